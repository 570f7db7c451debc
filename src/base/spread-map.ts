/**
 * A map by text that grows a little at a time. A `Map` of a hundred thousand entries that becomes
 * larger moves them all at once, which holds the event loop for 10 to 15 ms; of many small ones each
 * moves its own.
 */

const PARTS = 64;
/** Looked at to tell which part a key is in. */
const CHARACTERS = 24;

/** Entries by text, in no order. */
export class SpreadMap<V> {
  readonly #parts: readonly Map<string, V>[] = Array.from({ length: PARTS }, () => new Map());
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    return this.#partOf(key).get(key);
  }

  set(key: string, value: V): void {
    const part = this.#partOf(key);
    const before = part.size;
    part.set(key, value);
    this.#size += part.size - before;
  }

  delete(key: string): void {
    if (this.#partOf(key).delete(key)) this.#size -= 1;
  }

  *entries(): Generator<readonly [string, V]> {
    for (const part of this.#parts) yield* part;
  }

  /** By characters from all over the key: the whole of a long one would take longer than finding it. */
  #partOf(key: string): Map<string, V> {
    const step = Math.ceil(key.length / CHARACTERS);
    let mixed = key.length;
    for (let at = key.length - 1; at >= 0; at -= step) {
      mixed = (mixed * 31 + key.charCodeAt(at)) | 0;
    }
    return this.#parts[(mixed ^ (mixed >>> 12)) & (PARTS - 1)] as Map<string, V>;
  }
}
