/**
 * Bodies that are the same for everybody: encoded when the first asks, and from then on one text or
 * one buffer, however many are answered with it. Whoever shares a body never changes it again.
 */

/** A longer one is a buffer, as it leaves in pieces that are views of it. */
const MAX_TEXT_LENGTH = 64 * 1024;

type Encoded = string | Uint8Array;

const encodings = new WeakMap<object, Encoded | undefined>();

/** Marks octets, or a JSON value, as the same for everybody. */
export function shareBody<T extends object>(body: T): T {
  if (!encodings.has(body)) {
    encodings.set(body, body instanceof Uint8Array ? body : undefined);
  }
  return body;
}

/** Tells whether a body is the same for everybody. */
export function isShared(body: object): boolean {
  return encodings.has(body);
}

/** The encoded body; undefined: it is not shared. */
export function sharedEncoding(body: object): Encoded | undefined {
  if (!encodings.has(body)) return undefined;
  const known = encodings.get(body);
  if (known !== undefined) return known;
  const text = JSON.stringify(body);
  const made = text.length > MAX_TEXT_LENGTH ? Buffer.from(text) : text;
  encodings.set(body, made);
  // The octets are shared as well as the value.
  if (typeof made !== "string") encodings.set(made, made);
  return made;
}
