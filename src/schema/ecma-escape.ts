/**
 * The escapes of ECMAScript patterns, read as with the flag `u`, as RE2 writes them. An escape that
 * neither of them knows is left as it is, for RE2 to refuse.
 */

/** One part of a pattern that matches one character. */
export interface PatternPart {
  /** In RE2's syntax. */
  readonly text: string;
  /** The length of the escape in the pattern. */
  readonly length: number;
  /** Instructions, at most; a Unicode property counts several times for its hundreds of ranges. */
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

/** Reads the escape that begins at a backslash; some mean something else inside a class. */
export function readEscape(pattern: string, at: number, isInClass: boolean): PatternPart {
  const property = matchAt(PROPERTY, pattern, at);
  if (property !== null) {
    const [{ length }, sign = "p", name, letter = ""] = property;
    const text = `\\${sign}{${name === "ASCII" ? "Ascii" : (name ?? letter)}}`;
    return { text, length, size: PROPERTY_SIZE };
  }
  const character = readCharacter(pattern, at);
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

/** An escape that stands for one character by its number. */
function readCharacter(pattern: string, at: number): PatternPart | undefined {
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

/** The text that a sticky expression matches at a place. */
export function matchAt(regex: RegExp, text: string, at: number): RegExpExecArray | null {
  regex.lastIndex = at;
  return regex.exec(text);
}
