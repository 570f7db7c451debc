/**
 * The AGTP path of an operation: each parameter a whole segment with a name that a template may
 * have, and no segment the name of a method. What the grammar does not allow is renamed, always in
 * the same way. With it the set of pairs that are taken.   AGTP-API §5.1-5.3
 */
import { addUnder } from "../base/listed.ts";
import { type TemplatePiece, templatePieces } from "../base/template.ts";
import { checkTemplate, type MethodNames } from "../catalog/path-grammar.ts";
import { plural, snake } from "./words.ts";

/** A path template, and what had to be done to the document's. */
export interface EndpointPath {
  readonly path: string;
  /** The document's parameters and their names here, in order. */
  readonly parameters: readonly (readonly [string, string])[];
  /** Segments that were the names of methods. */
  readonly renamed: readonly (readonly [string, string])[];
}

const LEGAL = /[^A-Za-z0-9\-._~!$&'()*+,;=:@%]/gu;

/** Makes a path template of an OpenAPI path. */
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
      // The request line says it already.
      const other = bare(literal) === bare(method) ? undefined : rename(literal, names);
      renamed.push([piece.text, other ?? ""]);
      return other === undefined ? [] : [other];
    }),
  );
  return { path: `/${segments.join("/")}`, parameters, renamed };
}

/** Text and parameters that share a segment get segments of their own. */
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

/** A name of letters, digits and underscores. */
export function parameterName(name: string): string {
  if (/^[A-Za-z0-9_]+$/.test(name) && name !== "__proto__") return name;
  return (
    name.replace(/[^A-Za-z0-9_]+/g, "_").replace(/^_+|(?<!_)_+$/g, "") || snake(name) || "value"
  );
}

/** The name itself, or the first number behind it that nothing else has. */
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
 * Pairs of method and path template, to be asked which of them a request for another one could be
 * taken for. Documents have thousands of operations: paths are compared segment by segment, with
 * those of the same method and length only.   AGTP-API §5.4
 */
export class PairSet {
  readonly #templates = new Map<string, Template[]>();
  /** The last number that was tried to tell alike paths apart: what was taken stays so. */
  readonly tried: Map<string, number> = new Map();

  add(method: string, path: string): void {
    const template = readTemplate(path);
    addUnder(this.#templates, keyOf(method, template), template);
  }

  /** Tells whether some request could be for this pair or for one of the set, and nothing would tell which. */
  isAmbiguous(method: string, path: string): boolean {
    const { parameters } = readTemplate(path);
    return this.#overlapping(method, path).some((other) => other.parameters === parameters);
  }

  /** The segments that would not tell a path apart from those of the set, were they at its end. */
  takenBehind(method: string, path: string): ReadonlySet<string> {
    const { segments, parameters } = readTemplate(path === "/" ? "" : path);
    const longer = this.#templates.get(`${method} ${segments.length + 1}`) ?? [];
    const alike = longer.filter(
      (other) => other.parameters === parameters && overlap(segments, other.segments),
    );
    return new Set(alike.map((other) => other.segments.at(-1) ?? ""));
  }

  /** The paths of the set that match some of the paths that this one matches. */
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
