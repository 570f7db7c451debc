/**
 * Splits names into words and joins words into names: `listPets`, `pets/list` and `Pets_List`
 * consist of the same words, and the results are valid in files, variables, errors and path
 * segments.
 */

const MAX_NAME_LENGTH = 64;

/** The words of an identifier, in lower case. */
export function wordsOf(name: string): readonly string[] {
  return name
    .slice(0, 512)
    .normalize("NFKD")
    .replace(/\p{Mark}/gu, "")
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
}

/** `list-pets`; empty if the name has neither letters nor digits. */
export function kebab(name: string): string {
  return joinWords(name, "-");
}

/** `list_pets` */
export function snake(name: string): string {
  return joinWords(name, "_");
}

function joinWords(name: string, separator: string): string {
  let joined = "";
  for (const word of wordsOf(name)) {
    const next = joined === "" ? word : `${joined}${separator}${word}`;
    if (next.length > MAX_NAME_LENGTH)
      return joined === "" ? next.slice(0, MAX_NAME_LENGTH) : joined;
    joined = next;
  }
  return joined;
}

/** The plural of an English noun, as far as spelling tells. */
export function plural(word: string): string {
  if (/[^aeiou]y$/i.test(word)) return `${word.slice(0, -1)}ies`;
  return /(?:s|x|z|ch|sh)$/i.test(word) ? `${word}es` : `${word}s`;
}

/** The singular of a word that is probably a plural. */
export function singular(word: string): string {
  if (/ies$/i.test(word)) return `${word.slice(0, -3)}y`;
  if (/(?:ss|us|is)$/i.test(word)) return word;
  return word.replace(/(?<=s|x|z|ch|sh)es$|s$/i, "");
}

/** Gives out each name once: a taken name gets the lowest number that makes it free. */
export class UniqueNames {
  readonly #taken = new Set<string>();
  /** The last number tried for each name; lower ones stay taken. */
  readonly #tried = new Map<string, number>();
  readonly #separator: string;

  /** Compared without case, because some file systems ignore it. */
  constructor(separator: string, taken: Iterable<string> = []) {
    this.#separator = separator;
    for (const name of taken) this.#taken.add(name.toLowerCase());
  }

  has(name: string): boolean {
    return this.#taken.has(name.toLowerCase());
  }

  take(name: string): string {
    const folded = name.toLowerCase();
    let free = name;
    for (let number = this.#tried.get(folded) ?? 2; this.has(free); number += 1) {
      free = `${name}${this.#separator}${number}`;
      this.#tried.set(folded, number);
    }
    this.#taken.add(free.toLowerCase());
    return free;
  }
}

/** The first sentence of prose, without markup, on one line; may be empty. */
export function firstSentence(prose: string, maxLength: number): string {
  const text = plainText(prose);
  return shorten(/^.*?[.!?](?=\s|$)/.exec(text)?.[0] ?? text, maxLength);
}

/** Text of a document on one line of limited length, for comments and lists. */
export function onOneLine(text: string): string {
  return shorten(withoutControls(text.slice(0, 1024)), 400);
}

function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const cut = text.slice(0, maxLength - 1);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(" "), maxLength / 2)).trimEnd()}…`;
}

/** Converts Markdown and HTML to plain text on one line. */
function plainText(prose: string): string {
  const plain = prose
    .slice(0, 4096)
    .replace(/<[^<>]{0,200}>/g, " ")
    .replace(/!?\[([^\][]{0,200})\]\([^()]{0,500}\)/g, "$1")
    .replace(/[`*]|^#{1,6}\s/gm, "");
  return withoutControls(plain);
}

function withoutControls(text: string): string {
  return text
    .replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]|\p{Surrogate}|\p{Bidi_Control}/gu, " ")
    .replace(/\s+/g, " ")
    .trim();
}

const MAX_NOTES = 200;
const MORE_NOTES = "there is more like this, which is not listed";

/** Collects notes for the reviewer of a conversion, on parts that were left out or reinterpreted; each once. */
export class Notes {
  readonly #messages = new Set<string>();

  add(message: string): void {
    if (this.#messages.size < MAX_NOTES) this.#messages.add(message);
    else if (!this.#messages.has(message)) this.#messages.add(MORE_NOTES);
  }

  get messages(): readonly string[] {
    return [...this.#messages];
  }
}
