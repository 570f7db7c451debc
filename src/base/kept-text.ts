/**
 * Texts that are made once and leave many times: in one piece of their own, and bodies that are the
 * same for everybody.
 */
import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { encodingJson } from "./json-pieces.ts";
import { hashing } from "./octet-pieces.ts";
import type { Paced } from "./paced.ts";

/**
 * The same text in one piece of its own. What was put together from pieces is written piece by piece,
 * each time; and a piece cut from a message or a file keeps the whole of it alive. What is not
 * latin1, as heads and paths are, stays as it is.
 */
export function flatText(text: string): string {
  const copy = Buffer.from(text, "latin1").toString("latin1");
  return copy === text ? copy : text;
}

/**
 * The text of these characters that V8 has for names. Where both of two texts are such, they are compared, and
 * found in a map, without a look at their characters. The object has no prototype: with one, V8 keeps a hidden
 * class for each name, which takes 2.4 µs, and 0.4 so.
 */
export function nameText(text: string): string {
  const named: Record<string, true> = Object.create(null);
  named[text] = true;
  return Object.keys(named)[0] ?? text;
}

/** A text, and the two that it was made of. */
interface RepeatedText {
  readonly left: string;
  readonly right: string;
  readonly text: string;
}

const MAX_REPEATED_LENGTH = 384;

/**
 * Texts that are made of the same two others again and again. One that comes a second time is kept in one piece,
 * unless another has taken its place; what is always new costs little more than without.
 */
export class RepeatedTexts {
  readonly #make: (left: string, right: string) => string;
  readonly #marks: Int32Array;
  readonly #places: (RepeatedText | undefined)[];

  constructor(places: number, make: (left: string, right: string) => string) {
    this.#make = make;
    this.#marks = new Int32Array(places);
    this.#places = new Array<RepeatedText | undefined>(places).fill(undefined);
  }

  get(left: string, right: string): string {
    const mark = markOf(left, right);
    const place = (mark >>> 0) % this.#marks.length;
    const known = this.#places[place];
    if (known?.left === left && known.right === right) return known.text;
    const made = this.#make(left, right);
    if (this.#marks[place] !== mark) this.#marks[place] = mark;
    else if (made.length <= MAX_REPEATED_LENGTH) {
      const text = flatText(made);
      this.#places[place] = { left: flatText(left), right: flatText(right), text };
      return text;
    }
    return made;
  }
}

/**
 * By the lengths, the beginning of one and the ends of both: hashing all of it would take longer than making the text.
 */
function markOf(left: string, right: string): number {
  const end = left.length;
  let mark = end * 31 + right.length;
  for (let at = 0; at < 4; at += 1) mark = Math.imul(mark, 31) + left.charCodeAt(at);
  for (let at = end - 4; at < end; at += 1) mark = Math.imul(mark, 31) + left.charCodeAt(at);
  // The last character of none counts as 0.
  return (Math.imul(mark, 31) + (right.charCodeAt(right.length - 1) | 0)) | 0;
}

/** A longer one is a buffer, as it leaves in pieces that are views of it. */
const MAX_TEXT_LENGTH = 64 * 1024;

type Encoded = string | Uint8Array;

/** JSON that a value was read from: it says the same as long as nobody alters the value. */
class Source {
  readonly json: Encoded;

  constructor(json: Encoded) {
    this.json = json;
  }

  isOf(value: object): boolean {
    return isDeepStrictEqual(value, JSON.parse(this.text));
  }

  get text(): string {
    return typeof this.json === "string" ? this.json : Buffer.from(this.json).toString();
  }
}

const encodings = new WeakMap<object, Encoded | Source | undefined>();
/** Hashing a long one takes milliseconds. */
const hashes = new WeakMap<Uint8Array, string>();

/**
 * Marks octets, or a JSON value, as the same for everybody: encoded when the first asks, or before that
 * step by step, and from then on one text or one buffer, however many are answered with it. Whoever
 * shares a body never changes it again.
 */
export function shareBody<T extends object>(body: T): T {
  if (!encodings.has(body)) {
    encodings.set(body, body instanceof Uint8Array ? body : undefined);
  }
  return body;
}

/** Shares a value whose JSON is known. */
export function shareEncoded<T extends object>(body: T, text: string): T {
  keepEncoding(body, text);
  return body;
}

/** Notes the JSON that a value was read from; it is used while the value still says the same. */
export function noteSource<T extends object>(value: T, json: Encoded): T {
  encodings.set(value, new Source(json));
  return value;
}

/** The JSON that was noted of a value, which is nobody's to alter any more. */
export function sourceOf(value: unknown): string | undefined {
  const known = typeof value === "object" && value !== null ? encodings.get(value) : undefined;
  return known instanceof Source && known.isOf(value as object) ? known.text : undefined;
}

/** Shares octets whose SHA-256 is known, in hex. */
export function shareHashed(octets: Uint8Array, sha256: string): Uint8Array {
  hashes.set(octets, sha256);
  return shareBody(octets);
}

/** Tells whether a body is shared already. */
export function isShared(body: object): boolean {
  return encodings.has(body);
}

/** Shares a JSON value of any length, encoded and hashed a part a step. */
export function* sharingBody<T extends object>(body: T): Paced<T> {
  const octets = yield* encodingJson(body);
  if (octets.length > MAX_TEXT_LENGTH) {
    encodings.set(body, shareHashed(octets, yield* hashing([octets])));
  }
  return shareBody(body);
}

/** SHA-256 of octets, in hex; of shared ones it is made once. */
export function bodySha256(octets: Encoded): string {
  if (typeof octets === "string" || !encodings.has(octets)) return hash("sha256", octets);
  const known = hashes.get(octets) ?? hash("sha256", octets);
  hashes.set(octets, known);
  return known;
}

/** The encoded body; undefined: it is not shared, or another than its source by now. */
export function sharedEncoding(body: object): Encoded | undefined {
  if (!encodings.has(body)) return undefined;
  const known = encodings.get(body);
  if (known instanceof Source) return known.isOf(body) ? known.json : undefined;
  if (known !== undefined) return known;
  return keepEncoding(body, JSON.stringify(body));
}

function keepEncoding(body: object, text: string): Encoded {
  const made = text.length > MAX_TEXT_LENGTH ? Buffer.from(text) : text;
  encodings.set(body, made);
  // The octets are shared as well as the value.
  if (typeof made !== "string") encodings.set(made, made);
  return made;
}
