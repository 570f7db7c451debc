/**
 * Path templates: taken apart, and filled with values, each of which becomes part of one segment,
 * whatever is in it, and none climbs. What cannot be filled in is said in words. As a rule names them,
 * they are compared by what they mean: no percent-encoding leads around it, nor another way to write a
 * number.   AGTP-API §5.2-5.4
 */
import { lossOf } from "../base/exact-numbers.ts";
import { hasLoneSurrogate } from "../base/json-value.ts";
import { decodePart } from "../base/percent-encoding.ts";
import { fillTemplate, templateNames } from "../base/template.ts";
import type { SchemaViolation } from "../schema/schema-violation.ts";

/** The segments of a path template. */
export interface Template {
  readonly segments: readonly string[];
  /** Positions of the literal segments. */
  readonly literals: readonly number[];
  readonly parameters: readonly { readonly name: string; readonly index: number }[];
}

const PARAMETER = /^\{([A-Za-z0-9_]+)\}$/;

/** Undefined for a path without parameters, which is no template. */
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
  /** `parameter` is missing for a fault of the path as a whole. */
  | { readonly fault: string; readonly parameter?: string };

/** Fills a template; a path without parameters stays as it is. */
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

/** The reason why a value is no part of a segment, with the keyword of a schema that would say so. */
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

/** The value that the decoded text of a segment is read as. */
export type SegmentReading = (text: string, index: number) => unknown;

const asText: SegmentReading = (text) => text;

/** Compared with paths and with templates. */
export interface PathPattern {
  /** Tells whether a path of a request is meant. */
  matches(path: string, reading?: SegmentReading): boolean;
  /** Tells whether some path of this template can be meant. */
  canMatch(template: string): boolean;
  /** Tells whether all that another pattern means is meant. */
  covers(other: PathPattern): boolean;
  /** Undefined for what takes any segment. */
  readonly segments: readonly (string | undefined)[];
}

/** Compiles a path or a template of one. */
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

/** A step's path may have a parameter as a part of a segment. */
function isParameter(segment: string): boolean {
  return segment.includes("{");
}

function decode(segment: string): string {
  return decodePart(segment) ?? segment;
}
