/**
 * Generates a text that matches a pattern of common form: literals, classes, groups, alternatives
 * and repetitions. Undefined for any other; the caller checks the text anyway.
 */

/** The maximum length of a pattern. */
const MAX_PATTERN_LENGTH = 512;
const MAX_TEXT_LENGTH = 512;
const MAX_DEPTH = 16;
/** The characters that are tried for a class, in order. */
const FAMILIAR = "a1A-_. ";
const CLASSES: ReadonlyMap<string, string> = new Map([
  ["d", "1"],
  ["D", "a"],
  ["w", "a"],
  ["W", "-"],
  ["s", " "],
  ["S", "a"],
  ["b", ""],
  ["B", ""],
  ["t", "\t"],
  ["n", "\n"],
]);
const QUANTIFIER = /^(?:([*+?])|\{(\d{1,4})(?:(,)(\d{1,4})?)?\})\??/;
const GROUP = /^\((?:\?(?::|<[A-Za-z_]\w*>))?/;
const LOOK_AROUND = /^\(\?<?[=!]/;
const PROPERTY = /^\\p\{(?:L|Letter|Ll|Lu|N|Nd)\}/;

/** Returns a text of at least `minLength` characters if repetitions permit it. */
export function patternExample(pattern: string, minLength: number): string | undefined {
  if (pattern.length > MAX_PATTERN_LENGTH) return undefined;
  const shortest = new PatternReader(pattern, 0).read();
  if (shortest === undefined || shortest.length >= minLength) return shortest;
  const missing = Math.min(minLength - shortest.length, MAX_TEXT_LENGTH);
  return new PatternReader(pattern, missing).read();
}

class PatternReader {
  readonly #pattern: string;
  /** The number of additional repetitions for a part without an upper bound. */
  #extra: number;
  #at = 0;
  #isFaulty = false;

  constructor(pattern: string, extra: number) {
    this.#pattern = pattern;
    this.#extra = extra;
  }

  read(): string | undefined {
    const text = this.#alternatives(0);
    const isWhole = this.#at === this.#pattern.length;
    return this.#isFaulty || !isWhole || text.length > MAX_TEXT_LENGTH ? undefined : text;
  }

  get #rest(): string {
    return this.#pattern.slice(this.#at);
  }

  get #isOpen(): boolean {
    return !this.#isFaulty && this.#at < this.#pattern.length;
  }

  #fail(): string {
    this.#isFaulty = true;
    return "";
  }

  /** Generates the first alternative, and skips the others. */
  #alternatives(depth: number): string {
    if (depth > MAX_DEPTH) return this.#fail();
    const first = this.#sequence(depth);
    while (this.#isOpen && this.#pattern[this.#at] === "|") {
      this.#at += 1;
      this.#sequence(depth);
    }
    return first;
  }

  #sequence(depth: number): string {
    let text = "";
    while (this.#isOpen && !/[|)]/.test(this.#pattern[this.#at] ?? "")) {
      const atom = this.#atom(depth);
      text += atom.repeat(this.#repetitions());
      if (text.length > MAX_TEXT_LENGTH) return this.#fail();
    }
    return text;
  }

  #repetitions(): number {
    const [whole, sign, least, comma, most] = QUANTIFIER.exec(this.#rest) ?? [];
    if (whole === undefined) return 1;
    this.#at += whole.length;
    if (sign === "?") return 0;
    const minimum = sign === undefined ? Number(least) : Number(sign === "+");
    if (sign === undefined && comma === undefined) return minimum;
    const maximum = most === undefined ? Number.POSITIVE_INFINITY : Number(most);
    const count = Math.min(minimum + this.#extra, maximum);
    this.#extra -= count - minimum;
    return count;
  }

  #atom(depth: number): string {
    const character = this.#pattern[this.#at] ?? "";
    if (character === "\\") return this.#escape();
    if (character === "[") return this.#class();
    if (character === "(") return this.#group(depth);
    this.#at += 1;
    if (character === "^" || character === "$") return "";
    return character === "." ? "a" : character;
  }

  #group(depth: number): string {
    const opening = LOOK_AROUND.test(this.#rest) ? undefined : GROUP.exec(this.#rest)?.[0];
    if (opening === undefined) return this.#fail();
    this.#at += opening.length;
    const text = this.#alternatives(depth + 1);
    if (this.#pattern[this.#at] !== ")") return this.#fail();
    this.#at += 1;
    return text;
  }

  #escape(): string {
    const property = PROPERTY.exec(this.#rest)?.[0];
    if (property !== undefined) {
      this.#at += property.length;
      return property.includes("N") ? "1" : property.includes("Lu") ? "A" : "a";
    }
    const character = this.#pattern[this.#at + 1];
    if (character === undefined) return this.#fail();
    this.#at += 2;
    const known = CLASSES.get(character);
    if (known !== undefined) return known;
    // Letters and digits with a special meaning: code points, references.
    return /[A-Za-z0-9]/.test(character) ? this.#fail() : character;
  }

  /** Finds a familiar character that the class matches. */
  #class(): string {
    const [whole] = /^\[\^?\]?(?:\\.|[^\]\\])*\]/.exec(this.#rest) ?? [];
    if (whole === undefined) return this.#fail();
    this.#at += whole.length;
    const matcher = compileClass(whole);
    const others = whole.replace(/[[\]^\\]/g, "");
    const found = [...FAMILIAR, ...others].find((one) => matcher?.test(one));
    return found ?? this.#fail();
  }
}

/** Compiles a class, which alone cannot backtrack. */
function compileClass(text: string): RegExp | undefined {
  try {
    return new RegExp(`^${text}$`, "u");
  } catch {
    return undefined;
  }
}
