/**
 * Translates an ECMAScript pattern with the flag `u` to RE2 syntax, and computes the size of its
 * program before any of it is compiled. Look-around and back references, which RE2 lacks, are left
 * for RE2 to refuse. Groups do not capture.
 */

interface Re2Pattern {
  readonly text: string;
  /** The maximum number of instructions in its program. */
  readonly size: number;
}

/** A part of a pattern, with its effect on the program's size. */
interface Token extends PatternPart {
  readonly kind: "item" | "open" | "close" | "bar" | "repeat" | "copy";
}

const NO_LINE_END = "[^\\n\\r\\x{2028}\\x{2029}]";
const ANYTHING = "[\\x{0}-\\x{10ffff}]";
const NOTHING = "[^\\x{0}-\\x{10ffff}]";

const REPEAT = /\{(\d+)(?:,(\d*))?\}/y;
const POSIX_CLASS = /\[:\^?[a-z]+:\]/y;
const GROUP = /\((?:\?P?<(?![=!])[^>]*>|\?([a-zA-Z-]*)([:)]?))?/y;

/** Translates a pattern; undefined if it quotes with `\Q`, which ECMAScript lacks. */
export function toRe2(pattern: string): Re2Pattern | undefined {
  if (pattern.includes("\\Q")) return undefined;
  const tokens: Token[] = [];
  let isDotAll = false;
  for (let at = 0; at < pattern.length; ) {
    const token = readToken(pattern, at, isDotAll);
    // RE2's own flag `s`: from here on a dot matches any character.
    if (/^\(\?[a-z]*s/i.test(token.text)) isDotAll = true;
    tokens.push(token);
    at += token.length;
  }
  return { text: tokens.map(({ text }) => text).join(""), size: programSize(tokens) };
}

function readToken(pattern: string, at: number, isDotAll: boolean): Token {
  const next = pattern[at] ?? "";
  switch (next) {
    case "\\":
      return { kind: "item", ...readEscape(pattern, at, false) };
    case "[":
      return { kind: "item", ...readClass(pattern, at) };
    case "(":
      return readGroup(pattern, at);
    case ")":
      return { kind: "close", text: next, length: 1, size: 1 };
    case "|":
      return { kind: "bar", text: next, length: 1, size: 1 };
    case "*":
    case "+":
    case "?":
      return { kind: "repeat", text: next, length: 1, size: 1 };
    case "{":
      return readRepeat(pattern, at);
    case ".":
      return { kind: "item", text: isDotAll ? next : NO_LINE_END, length: 1, size: 1 };
    default:
      return { kind: "item", ...readCharacter(pattern, at) };
  }
}

function readCharacter(pattern: string, at: number): PatternPart {
  const length = (pattern.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return { text: pattern.slice(at, at + length), length, size: 1 };
}

function readGroup(pattern: string, at: number): Token {
  const [opening = "(", flags, end] = matchAt(GROUP, pattern, at) ?? [];
  const text = flags === undefined ? "(?:" : opening;
  return { kind: end === ")" ? "item" : "open", text, length: opening.length, size: 1 };
}

/** Reads a repetition; its size is the number of copies in the program. */
function readRepeat(pattern: string, at: number): Token {
  const match = matchAt(REPEAT, pattern, at);
  if (match === null) return { kind: "item", ...readCharacter(pattern, at) };
  const [text, least, most] = match;
  const size = Math.max(Number(least), Number(most ?? 0), 1);
  return { kind: most === undefined ? "copy" : "repeat", text, length: text.length, size };
}

function readClass(pattern: string, at: number): PatternPart {
  if (pattern.startsWith("[]", at)) return { text: NOTHING, length: 2, size: 1 };
  if (pattern.startsWith("[^]", at)) return { text: ANYTHING, length: 3, size: 1 };
  let text = pattern.startsWith("[^", at) ? "[^" : "[";
  let size = 1;
  let end = at + text.length;
  while (end < pattern.length && pattern[end] !== "]") {
    const member = readMember(pattern, end);
    text += member.text;
    size += member.size - 1;
    end += member.length;
  }
  return { text: `${text}${pattern.slice(end, end + 1)}`, length: end + 1 - at, size };
}

function readMember(pattern: string, at: number): PatternPart {
  if (pattern[at] === "\\") return readEscape(pattern, at, true);
  const character = readCharacter(pattern, at);
  // RE2 alone has `[:alpha:]`; any other bracket in a class is a character.
  const isBracket = character.text === "[" && matchAt(POSIX_CLASS, pattern, at) === null;
  return isBracket ? { ...character, text: "\\[" } : character;
}

/** An open group: the size so far, without and with its last item, which a repetition would copy. */
interface Group {
  total: number;
  last: number;
}

function programSize(tokens: readonly Token[]): number {
  const outer: Group[] = [];
  let group: Group = { total: 2, last: 0 };
  for (const { kind, size } of tokens) {
    switch (kind) {
      case "item":
        group = { total: group.total + group.last, last: size };
        break;
      case "open":
        outer.push(group);
        group = { total: 0, last: 0 };
        break;
      case "close": {
        const parent = outer.pop() ?? { total: 0, last: 0 };
        const closed = group.total + Math.max(group.last, 1);
        group = { total: parent.total + parent.last, last: closed };
        break;
      }
      case "bar":
        group = { total: group.total + Math.max(group.last, 1) + 1, last: 0 };
        break;
      case "copy":
        group = { total: group.total, last: size * group.last };
        break;
      case "repeat":
        // Each copy has a way around it, and a possibly empty repetition one more around them all.
        group = { total: group.total, last: size * (group.last + 1) + 1 };
        break;
    }
  }
  return [...outer, group].reduce((sum, { total, last }) => sum + total + Math.max(last, 1), 0);
}

/** A part of a pattern that matches one character. */
interface PatternPart {
  /** The text in RE2's syntax. */
  readonly text: string;
  /** The length of the part in the pattern. */
  readonly length: number;
  /** The maximum number of instructions; a Unicode property counts several times for its hundreds of ranges. */
  readonly size: number;
}

const SPACE =
  "\\t-\\r\\x{20}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}\\s";
const NO_SPACE =
  "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}" +
  "\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}";

const PROPERTY = /\\([pP])(?:\{(?:(?:gc|sc|General_Category|Script)=)?([^{}]*)\}|([A-Z]))/y;
const SURROGATES = /\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})/y;
const CODE_POINT = /\\u(?:\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{4}))/y;
const CONTROL = /\\c([a-zA-Z])/y;
const NUL = /\\0(?!\d)/y;
const PROPERTY_SIZE = 4;

/** Reads the escape at a backslash; some have another meaning inside a class. */
function readEscape(pattern: string, at: number, isInClass: boolean): PatternPart {
  const property = matchAt(PROPERTY, pattern, at);
  if (property !== null) {
    const [{ length }, sign = "p", name, letter = ""] = property;
    const text = `\\${sign}{${name === "ASCII" ? "Ascii" : (name ?? letter)}}`;
    return { text, length, size: PROPERTY_SIZE };
  }
  const character = readEscapedCharacter(pattern, at);
  if (character !== undefined) return character;
  const pair = pattern.slice(at, at + 2);
  const text = (isInClass ? CLASS_ESCAPES : ESCAPES).get(pair) ?? pair;
  return { text, length: pair.length, size: 1 };
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["\\s", `[${SPACE}]`],
  ["\\S", `[^${SPACE}]`],
]);
const CLASS_ESCAPES: ReadonlyMap<string, string> = new Map([
  ["\\s", SPACE],
  ["\\S", NO_SPACE],
  ["\\b", "\\x{8}"],
]);

/** Reads an escape that gives one character by number. */
function readEscapedCharacter(pattern: string, at: number): PatternPart | undefined {
  const pair = matchAt(SURROGATES, pattern, at);
  if (pair !== null) {
    const [{ length }, high = "", low = ""] = pair;
    const text = String.fromCharCode(Number.parseInt(high, 16), Number.parseInt(low, 16));
    return numbered(text.codePointAt(0) ?? 0, length);
  }
  const point = matchAt(CODE_POINT, pattern, at);
  if (point !== null)
    return numbered(Number.parseInt(point[1] ?? point[2] ?? "", 16), point[0].length);
  const control = matchAt(CONTROL, pattern, at);
  if (control !== null) return numbered((control[1] ?? "").charCodeAt(0) % 32, control[0].length);
  return matchAt(NUL, pattern, at) === null ? undefined : numbered(0, 2);
}

function numbered(codePoint: number, length: number): PatternPart {
  return { text: `\\x{${codePoint.toString(16)}}`, length, size: 1 };
}

/** Matches a sticky expression at a position. */
function matchAt(regex: RegExp, text: string, at: number): RegExpExecArray | null {
  regex.lastIndex = at;
  return regex.exec(text);
}
