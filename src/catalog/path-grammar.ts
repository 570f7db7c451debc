/**
 * The path grammar: checks that a path of a request or an endpoint is well-formed and contains no
 * method names. A method in a path would repeat, or contradict, the request line. A fault is a 460
 * for a request and a problem for a template.   AGTP-API §5.1-5.3
 */
import { clip, quoteValue } from "../base/json-value.ts";
import { type Catalog, HTTP_VERBS, isMethodName, METHOD_NAME_LENGTH } from "./catalog.ts";

/** A violation of the grammar: the segment as written, and the reason. */
export interface PathFault {
  readonly segment: string;
  readonly message: string;
  /** The message as JSON, if it is already encoded. */
  readonly messageText?: string;
}

/** Method names as the grammar compares them: lower case, without "-" and "_". */
export type MethodNames = ReadonlySet<string>;

// Each alternative consumes one character or one encoded octet, so that no input causes
// backtracking.
const LEGAL_PATH = /^\/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*$/;
const LEGAL_SEGMENT = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})*$/;
const PARAMETER = /^\{[A-Za-z0-9_]+\}$/;
const INCOMPLETE_ENCODING = /%(?![0-9A-Fa-f]{2})/;
// Only encoded ASCII is decoded, since no method name has other characters.
const ENCODED_ASCII = /%([2-7][0-9A-Fa-f])/g;
/** Characters that make a segment's bare name differ from its text. */
const NOT_BARE = /[%\-_]/;
const MAX_QUOTED_LENGTH = 64;

/** Returns the names that no segment may match: catalog, floor, HTTP verbs and custom methods. */
export function methodNames(catalog: Catalog, custom: readonly string[]): MethodNames {
  const names = [...catalog.verbs.keys(), ...catalog.embedded, ...HTTP_VERBS, ...custom];
  return new Set(names.filter(isMethodName).map(bareName));
}

/** Checks the path of a request, whose parameters have become values.   AGTP-API §5.1 */
export function checkPath(path: string, names: MethodNames): PathFault | undefined {
  return findFault(path, names, undefined);
}

/** Creates a check of many paths against the same names. */
export function createPathCheck(names: MethodNames): (path: string) => PathFault | undefined {
  const outlines = outlinesOf(names);
  return (path) => findFault(path, names, outlines);
}

function findFault(
  path: string,
  names: MethodNames,
  outlines: Uint8Array | undefined,
): PathFault | undefined {
  const structure = checkStructure(path);
  if (structure !== undefined) return structure;
  if (!LEGAL_PATH.test(path)) return findIllegalSegment(path);
  const known = outlines === undefined || NOT_BARE.test(path) ? undefined : outlines;
  // The hot path of every request: segments are not collected in an array.
  let start = 1;
  while (start < path.length) {
    const slash = path.indexOf("/", start);
    const end = slash === -1 ? path.length : slash;
    const mayBeName = known === undefined || known[outlineOf(path, start, end)] === 1;
    if (mayBeName && end - start >= METHOD_NAME_LENGTH.min) {
      const segment = path.slice(start, end);
      if (names.has(bareName(segment))) return methodFault(segment);
    }
    start = end + 1;
  }
  return undefined;
}

/**
 * Builds a table of the names' lengths with their first and last letters. Most segments match no
 * entry; cutting out, folding and looking up each took half of the check.
 */
function outlinesOf(names: MethodNames): Uint8Array {
  const outlines = new Uint8Array(OUTLINES);
  for (const name of names) outlines[outlineOf(name, 0, name.length)] = 1;
  return outlines;
}

const OUTLINES = 1 << 15;

/** Five bits distinguish letters, in either case. */
function outlineOf(text: string, start: number, end: number): number {
  const first = text.charCodeAt(start) & 31;
  const last = text.charCodeAt(end - 1) & 31;
  return (((end - start) & 31) << 10) | (first << 5) | last;
}

/** Checks the path of an endpoint, whose parameters are whole segments.   §5.2, §5.3 */
export function checkTemplate(path: string, names: MethodNames): PathFault | undefined {
  const structure = checkStructure(path);
  if (structure !== undefined) return structure;
  const parameters = new Set<string>();
  for (const segment of path.slice(1).split("/")) {
    if (PARAMETER.test(segment)) {
      if (parameters.has(segment)) {
        return { segment, message: `parameter ${quoteValue(segment)} occurs twice` };
      }
      parameters.add(segment);
    } else if (/[{}]/.test(segment)) {
      return templateFault(segment);
    } else if (!LEGAL_SEGMENT.test(segment)) {
      return illegalSegment(segment);
    } else if (names.has(bareName(segment))) {
      return methodFault(segment);
    }
  }
  return undefined;
}

/** Returns the parameter names of a template, in order. */
export function templateParameters(path: string): readonly string[] {
  return path
    .split("/")
    .filter((segment) => PARAMETER.test(segment))
    .map((segment) => segment.slice(1, -1));
}

interface MethodSegment {
  readonly segment: string;
  readonly method: string;
}

/** Returns every segment of a path or template that is a method name.   AGTP-API §5.1 */
export function methodSegments(path: string, names: MethodNames): readonly MethodSegment[] {
  return path
    .split("/")
    .filter((segment) => names.has(bareName(segment)))
    .map((segment) => ({ segment, method: bareName(segment).toUpperCase() }));
}

function checkStructure(path: string): PathFault | undefined {
  if (!path.startsWith("/")) {
    const slash = path.indexOf("/");
    const segment = slash === -1 ? path : path.slice(0, slash);
    return { segment, message: `the path begins with ${quoteValue(segment)}, expected "/"` };
  }
  if (path === "/") return undefined;
  if (path.startsWith("//")) {
    return { segment: "/", message: "the first segment is empty" };
  }
  if (path.endsWith("/")) {
    return { segment: "/", message: 'the path ends with "/"; only the root path may' };
  }
  return undefined;
}

/** Returns the first segment that `LEGAL_PATH` rejects. */
function findIllegalSegment(path: string): PathFault {
  const segments = path.slice(1).split("/");
  return illegalSegment(segments.find((segment) => !LEGAL_SEGMENT.test(segment)) ?? path);
}

function illegalSegment(segment: string): PathFault {
  const name = `segment ${quoteValue(segment)}`;
  if (/[{}]/.test(segment)) {
    return { segment, message: `${name} has braces, which only the path of an endpoint may have` };
  }
  if (INCOMPLETE_ENCODING.test(segment)) {
    return { segment, message: `${name} has a "%" without two hexadecimal digits after it` };
  }
  return { segment, message: `${name} has a character that must be percent-encoded` };
}

function templateFault(segment: string): PathFault {
  const whole = segment.startsWith("{") && segment.endsWith("}");
  const why = whole
    ? "is no parameter name; expected letters, digits and underscores in braces"
    : "mixes text and braces; a parameter takes a whole segment, as in {name}";
  return { segment, message: `segment ${quoteValue(segment)} ${why}` };
}

const IS_METHOD = "is the name of a method; methods belong on the request line";

/**
 * Builds the fault without escaping, since a legal segment needs none: checking costs as much as
 * the rest of the refusal.
 */
function methodFault(segment: string): PathFault {
  const name = clip(segment, MAX_QUOTED_LENGTH);
  const message = `segment "${name}" ${IS_METHOD}`;
  return { segment, message, messageText: `"segment \\"${name}\\" ${IS_METHOD}"` };
}

/** Skips each step that has nothing to do, as for nearly every path. */
function bareName(segment: string): string {
  let name = segment;
  if (name.includes("%")) name = name.replace(ENCODED_ASCII, decodeOctet);
  if (name.includes("-")) name = name.replaceAll("-", "");
  if (name.includes("_")) name = name.replaceAll("_", "");
  // V8 has a fast path for lower-casing, but not for upper-casing.
  return name.toLowerCase();
}

function decodeOctet(_encoded: string, digits: string): string {
  return String.fromCharCode(Number.parseInt(digits, 16));
}

/** The first segments of DISCOVER paths that belong to the protocol.   AGTP-API §5.9 */
export const RESERVED_NAMES: readonly string[] = [
  "methods",
  "agents",
  "genesis",
  "tools",
  "apis",
  "patterns",
  "contracts",
];
