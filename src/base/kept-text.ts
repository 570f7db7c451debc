/** Texts that are made once and sent many times: flat copies, and bodies that are shared among responses. */
import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { encodingJson } from "./json-pieces.ts";
import { hashing } from "./octet-pieces.ts";
import type { Paced } from "./paced.ts";

/**
 * Returns a flat copy of a text. V8 writes a concatenated text piece by piece each time, and a
 * slice of a message or file keeps the whole of it alive. A text beyond latin1, which heads and
 * paths never are, is returned unchanged.
 */
export function flatText(text: string): string {
  const copy = Buffer.from(text, "latin1").toString("latin1");
  return copy === text ? copy : text;
}

/**
 * Returns V8's internalized copy of a text. Two such texts are compared, and found in a map,
 * without reading their characters. The object has no prototype: with one, V8 would keep a hidden
 * class for each name, which takes 2.4 µs instead of 0.4.
 */
export function nameText(text: string): string {
  const named: Record<string, true> = Object.create(null);
  named[text] = true;
  return Object.keys(named)[0] ?? text;
}

/** A text, with the two that it was made of. */
interface RepeatedText {
  readonly left: string;
  readonly right: string;
  readonly text: string;
}

const MAX_REPEATED_LENGTH = 384;

/**
 * Caches texts that are made of the same two parts repeatedly. A text that recurs is kept as a flat
 * copy until another takes its slot; one that never recurs costs little more than without a cache.
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
 * Hashes the lengths, the start of one part and the ends of both; hashing all of it would take
 * longer than making the text.
 */
function markOf(left: string, right: string): number {
  const end = left.length;
  let mark = end * 31 + right.length;
  for (let at = 0; at < 4; at += 1) mark = Math.imul(mark, 31) + left.charCodeAt(at);
  for (let at = end - 4; at < end; at += 1) mark = Math.imul(mark, 31) + left.charCodeAt(at);
  // An empty text yields NaN, which counts as 0.
  return (Math.imul(mark, 31) + (right.charCodeAt(right.length - 1) | 0)) | 0;
}

/** The length above which a body is a buffer, which is sent in pieces that are views of it. */
const MAX_TEXT_LENGTH = 64 * 1024;

type Encoded = string | Uint8Array;

/** The JSON that a value was parsed from; it is valid as long as the value is not changed. */
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
/** Cached, since hashing a long one takes milliseconds. */
const hashes = new WeakMap<Uint8Array, string>();

/**
 * Shares octets or a JSON value: it is encoded on the first use, or in steps before that, and all
 * answers then use the same text or buffer. A shared body must not be changed.
 */
export function shareBody<T extends object>(body: T): T {
  if (!encodings.has(body)) {
    encodings.set(body, body instanceof Uint8Array ? body : undefined);
  }
  return body;
}

/** Shares a value with its known JSON. */
export function shareEncoded<T extends object>(body: T, text: string): T {
  keepEncoding(body, text);
  return body;
}

/** Notes the JSON that a value was parsed from; it is used as long as the value is unchanged. */
export function noteSource<T extends object>(value: T, json: Encoded): T {
  encodings.set(value, new Source(json));
  return value;
}

/** Returns the noted JSON of a value if that is unchanged; the value must not be changed afterwards. */
export function sourceOf(value: unknown): string | undefined {
  const known = typeof value === "object" && value !== null ? encodings.get(value) : undefined;
  return known instanceof Source && known.isOf(value as object) ? known.text : undefined;
}

/** Shares octets with their known SHA-256, in hex. */
export function shareHashed(octets: Uint8Array, sha256: string): Uint8Array {
  hashes.set(octets, sha256);
  return shareBody(octets);
}

/** Tells whether a body is shared already. */
export function isShared(body: object): boolean {
  return encodings.has(body);
}

/** Shares a JSON value of any length; encodes and hashes it in steps. */
export function* sharingBody<T extends object>(body: T): Paced<T> {
  const octets = yield* encodingJson(body);
  if (octets.length > MAX_TEXT_LENGTH) {
    encodings.set(body, shareHashed(octets, yield* hashing([octets])));
  }
  return shareBody(body);
}

/** Returns the SHA-256 of octets in hex; cached for shared ones. */
export function bodySha256(octets: Encoded): string {
  if (typeof octets === "string" || !encodings.has(octets)) return hash("sha256", octets);
  const known = hashes.get(octets) ?? hash("sha256", octets);
  hashes.set(octets, known);
  return known;
}

/** Returns the encoded body; undefined if it is not shared, or has changed since its source was noted. */
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
