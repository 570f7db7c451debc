/**
 * The AGTP path of an operation: each parameter is a whole segment with a valid template name, and
 * no segment is a method's name. Invalid parts are renamed deterministically. Also the set of pairs
 * already taken.   AGTP-API §5.1-5.3
 */
import { addUnder } from "../base/listed.ts";
import { type TemplatePiece, templatePieces } from "../base/template.ts";
import { checkTemplate, type MethodNames } from "../catalog/path-grammar.ts";
import { plural, snake } from "./words.ts";

/** A path template, with the changes to the document's. */
export interface EndpointPath {
  readonly path: string;
  /** The document's parameter names with their new names, in order. */
  readonly parameters: readonly (readonly [string, string])[];
  /** Segments that were methods' names. */
  readonly renamed: readonly (readonly [string, string])[];
}

const LEGAL = /[^A-Za-z0-9\-._~!$&'()*+,;=:@%]/gu;

/** Converts an OpenAPI path to a path template. */
export function makePath(source: string, method: string, names: MethodNames): EndpointPath {
  const [plain = ""] = source.split(/[?#]/, 1);
  const parameters: (readonly [string, string])[] = [];
  const renamed: (readonly [string, string])[] = [];
  const taken = new Set<string>();
  const segments = plain.split("/").flatMap((segment) =>
    splitSegment(segment).flatMap((piece) => {
      if (piece.kind === "parameter") {
        const name = freeName(parameterName(piece.name), taken);
        taken.add(name);
        parameters.push([piece.name, name]);
        return [`{${name}}`];
      }
      const literal = encodeLiteral(piece.text);
      if (literal === "" || checkTemplate(`/${literal}`, names) === undefined) {
        return literal === "" ? [] : [literal];
      }
      // A segment that repeats the method is dropped, because the request line contains it.
      const other = bare(literal) === bare(method) ? undefined : rename(literal, names);
      renamed.push([piece.text, other ?? ""]);
      return other === undefined ? [] : [other];
    }),
  );
  return { path: `/${segments.join("/")}`, parameters, renamed };
}

/** Splits text and parameters of one segment into separate segments. */
function splitSegment(segment: string): readonly TemplatePiece[] {
  const pieces = templatePieces(segment);
  if (pieces.length === 1) return pieces;
  return pieces
    .map((piece) =>
      piece.kind === "parameter"
        ? piece
        : { ...piece, text: piece.text.replace(/^\W+|(?<!\W)\W+$/g, "") },
    )
    .filter((piece) => piece.kind === "parameter" || piece.text !== "");
}

/** Converts a name to letters, digits and underscores. */
export function parameterName(name: string): string {
  if (/^[A-Za-z0-9_]+$/.test(name) && name !== "__proto__") return name;
  return (
    name.replace(/[^A-Za-z0-9_]+/g, "_").replace(/^_+|(?<!_)_+$/g, "") || snake(name) || "value"
  );
}

/** Returns the name, with the lowest number appended that makes it free if it is taken. */
export function freeName(name: string, taken: Pick<ReadonlySet<string>, "has">): string {
  let free = name;
  for (let number = 2; taken.has(free); number += 1) free = `${name}_${number}`;
  return free;
}

function encodeLiteral(text: string): string {
  return text
    .replace(/\p{Surrogate}/gu, "\ufffd")
    .replace(/%(?![0-9A-Fa-f]{2})/g, "%25")
    .replace(LEGAL, encodeURIComponent)
    .replace(/[{}]/g, "");
}

function rename(segment: string, names: MethodNames): string {
  const candidates = [plural(segment), `${segment}-item`, `${segment}-path`];
  const isFree = (name: string): boolean => checkTemplate(`/${name}`, names) === undefined;
  return candidates.find(isFree) ?? `${segment}-segment`;
}

function bare(segment: string): string {
  return segment.replace(/[-_]/g, "").toLowerCase();
}

interface Template {
  readonly path: string;
  readonly segments: readonly string[];
  readonly parameters: number;
}

/**
 * A set of pairs of method and path template that finds overlaps with another pair. Documents have
 * thousands of operations, so a path is only compared, segment by segment, with those of the same
 * method and length.   AGTP-API §5.4
 */
export class PairSet {
  readonly #templates = new Map<string, Template[]>();
  /** The last number tried for each family of alike paths; lower ones stay taken. */
  readonly tried: Map<string, number> = new Map();

  add(method: string, path: string): void {
    const template = readTemplate(path);
    addUnder(this.#templates, keyOf(method, template), template);
  }

  /** Returns true if a request could match this pair and one of the set, without either being more specific. */
  isAmbiguous(method: string, path: string): boolean {
    const { parameters } = readTemplate(path);
    return this.#overlapping(method, path).some((other) => other.parameters === parameters);
  }

  /** The last segments that would not distinguish a path, extended by one, from those of the set. */
  takenBehind(method: string, path: string): ReadonlySet<string> {
    const { segments, parameters } = readTemplate(path === "/" ? "" : path);
    const longer = this.#templates.get(`${method} ${segments.length + 1}`) ?? [];
    const alike = longer.filter(
      (other) => other.parameters === parameters && overlap(segments, other.segments),
    );
    return new Set(alike.map((other) => other.segments.at(-1) ?? ""));
  }

  /** The paths of the set that share a match with this one. */
  overlapping(method: string, path: string): readonly string[] {
    return this.#overlapping(method, path).map((other) => other.path);
  }

  #overlapping(method: string, path: string): readonly Template[] {
    const template = readTemplate(path);
    const alike = this.#templates.get(keyOf(method, template)) ?? [];
    return alike.filter((other) => overlap(template.segments, other.segments));
  }
}

function readTemplate(path: string): Template {
  const segments = path.split("/");
  const parameters = segments.filter((segment) => segment.startsWith("{")).length;
  return { path, segments, parameters };
}

function keyOf(method: string, { segments }: Template): string {
  return `${method} ${segments.length}`;
}

function overlap(ours: readonly string[], theirs: readonly string[]): boolean {
  return ours.every((segment, index) => {
    const other = theirs[index] ?? "";
    return segment === other || segment.startsWith("{") || other.startsWith("{");
  });
}
