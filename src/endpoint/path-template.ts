/**
 * Path templates: parsed, and filled with values that each become part of one segment and never of
 * a parent path; faults are returned in words. As patterns of rules they are compared by meaning,
 * so that neither percent-encoding nor another notation of a number avoids a rule.   AGTP-API
 * §5.2-5.4
 */
import { lossOf } from "../base/exact-numbers.ts";
import { hasLoneSurrogate } from "../base/json-value.ts";
import { decodePart } from "../base/percent-encoding.ts";
import { fillTemplate, templateNames } from "../base/template.ts";
import type { SchemaViolation } from "../schema/schema-violation.ts";

/** The segments of a path template. */
export interface Template {
  readonly segments: readonly string[];
  /** The positions of the literal segments. */
  readonly literals: readonly number[];
  readonly parameters: readonly { readonly name: string; readonly index: number }[];
}

const PARAMETER = /^\{([A-Za-z0-9_]+)\}$/;

/** Parses a template; undefined for a path without parameters. */
export function compileTemplate(path: string): Template | undefined {
  const segments = path.slice(1).split("/");
  const literals: number[] = [];
  const parameters: { name: string; index: number }[] = [];
  for (const [index, segment] of segments.entries()) {
    const name = PARAMETER.exec(segment)?.[1];
    if (name === undefined) literals.push(index);
    else parameters.push({ name, index });
  }
  return parameters.length === 0 ? undefined : { segments, literals, parameters };
}

type FilledPath =
  | { readonly path: string; readonly fault?: undefined }
  /** The fault, with its parameter unless the whole path is at fault. */
  | { readonly fault: string; readonly parameter?: string };

/** Fills a template; a path without parameters is returned unchanged. */
export function fillPath(template: string, values: ReadonlyMap<string, unknown>): FilledPath {
  const names = templateNames(template);
  for (const name of names) {
    const fault = pathValueFault(values.get(name));
    if (fault !== undefined) return { fault: `path parameter "${name}" ${fault}`, parameter: name };
  }
  const fill = (name: string): string => encodeURIComponent(String(values.get(name)));
  const path = names.length === 0 ? template : fillTemplate(template, fill);
  const climbs = path.split("/").some((segment) => segment === "." || segment === "..");
  return climbs ? { fault: `path "${path}" must not climb` } : { path };
}

function pathValueFault(value: unknown): string | undefined {
  if (value === undefined) return "has no value";
  const fault = segmentFault(value);
  if (fault !== undefined) return fault.message;
  return typeof value === "number" ? lossOf(value) : undefined;
}

/** Returns why a value cannot be part of a segment, with the corresponding schema keyword. */
export function segmentFault(value: unknown): Omit<SchemaViolation, "path"> | undefined {
  if (!["string", "number", "boolean"].includes(typeof value)) {
    return { keyword: "type", message: "must be a string, a number or a boolean" };
  }
  if (value === "") return { keyword: "minLength", message: "must not be empty" };
  if (value === "." || value === "..") {
    return { keyword: "not", message: 'must not be "." or ".."' };
  }
  if (!hasLoneSurrogate(String(value))) return undefined;
  return { keyword: "format", message: "must be well-formed text" };
}

/** Converts the decoded text of a segment to the value that the handler gets. */
export type SegmentReading = (text: string, index: number) => unknown;

const asText: SegmentReading = (text) => text;

/** A pattern of a rule, which is compared with paths and templates. */
export interface PathPattern {
  /** Tells whether a request's path matches. */
  matches(path: string, reading?: SegmentReading): boolean;
  /** Tells whether any path of this template can match. */
  canMatch(template: string): boolean;
  /** Tells whether every path that another pattern matches matches here, too. */
  covers(other: PathPattern): boolean;
  /** The segments; undefined for one that matches anything. */
  readonly segments: readonly (string | undefined)[];
}

/** Compiles a path or a path template to a pattern. */
export function compilePathPattern(text: string): PathPattern {
  const segments = segmentsOf(text).map((one) => (isParameter(one) ? undefined : decode(one)));
  const agree = (
    others: readonly string[],
    fits: (own: string | undefined, other: string, index: number) => boolean,
  ): boolean =>
    others.length === segments.length && others.every((other, at) => fits(segments[at], other, at));
  return {
    segments,
    matches: (path, reading = asText) =>
      agree(segmentsOf(path), (own, other, index) =>
        own === undefined ? other !== "" : reading(own, index) === reading(decode(other), index),
      ),
    canMatch: (template) =>
      agree(
        segmentsOf(template),
        (own, other) => own === undefined || isParameter(other) || own === decode(other),
      ),
    covers: (other) =>
      other.segments.length === segments.length &&
      segments.every((own, at) => own === undefined || own === other.segments[at]),
  };
}

function segmentsOf(path: string): readonly string[] {
  return path.slice(1).split("/");
}

/** A recipe step's path may have a parameter within a segment. */
function isParameter(segment: string): boolean {
  return segment.includes("{");
}

function decode(segment: string): string {
  return decodePart(segment) ?? segment;
}
