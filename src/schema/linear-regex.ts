/**
 * Regular expressions that unknown callers write, or that check what they send. RE2 matches them in
 * time linear in the text, whatever the pattern, and their size is bounded before they are
 * compiled. They have ECMAScript's semantics, without look-around and back references.   AGTP-API
 * §10.6
 */
import { RE2JSException, RE2JSSyntaxException, RE2Set } from "re2js";
import { toRe2 } from "./ecma-pattern.ts";

export interface LinearRegex {
  /** The pattern as written. */
  readonly source: string;
  /** The maximum number of steps per character of a text. */
  readonly size: number;
  /** Tells whether the pattern matches any part of a text. */
  test(text: string): boolean;
}

export interface RegexLimits {
  readonly maxSize: number;
  /** The memory for its cache of seen states, in bytes. */
  readonly memoryBytes: number;
}

/** A compiled pattern, or the fault: the end of a sentence that starts with the pattern. */
type RegexResult =
  | { readonly kind: "regex"; readonly regex: LinearRegex }
  | { readonly kind: "fault"; readonly message: string };

/** The bounds of an operator's pattern; a request's path takes it a fraction of a second. */
const OPERATOR_REGEX_LIMITS: RegexLimits = { maxSize: 1024, memoryBytes: 1_048_576 };

/** Compiles a pattern. Most of the work is deferred to the first text. */
export function compileLinearRegex(
  source: string,
  { maxSize, memoryBytes }: RegexLimits = OPERATOR_REGEX_LIMITS,
): RegexResult {
  const translated = toRe2(source);
  if (translated === undefined) return notRe2("invalid escape sequence: \\Q");
  const { text, size } = translated;
  if (size > maxSize) {
    const message = `takes ${size} steps a character, expected at most ${maxSize}: repeat less`;
    return { kind: "fault", message };
  }
  const set = new RE2Set(RE2Set.UNANCHORED, 0, memoryBytes);
  try {
    set.add(text);
  } catch (error) {
    if (error instanceof RE2JSException) return notRe2(reasonOf(error, source));
    throw error;
  }
  return { kind: "regex", regex: { source, size, test: (tested) => set.match(tested).length > 0 } };
}

function notRe2(reason: string): RegexResult {
  return { kind: "fault", message: `is no regular expression that RE2 can match: ${reason}` };
}

/** Quotes the part that RE2 rejects, unless RE2's syntax has changed it. */
function reasonOf(error: RE2JSException, source: string): string {
  if (!(error instanceof RE2JSSyntaxException)) return error.message;
  const part = error.getPattern();
  const isQuotable = part !== null && part !== source && source.includes(part);
  return error.getDescription() + (isQuotable ? `: ${part}` : "");
}
