/**
 * A map by text that grows gradually. A `Map` of a hundred thousand entries rehashes all of them
 * when it grows, which blocks the event loop for 10 to 15 ms; many small maps each rehash their
 * own.
 */

const PARTS = 64;
/** The number of characters that select a key's part. */
const CHARACTERS = 24;

/** Entries by text, unordered. */
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

  /**
   * Selects the part by characters from the whole key; hashing all of a long key would take longer
   * than the lookup.
   */
  #partOf(key: string): Map<string, V> {
    const step = Math.ceil(key.length / CHARACTERS);
    let mixed = key.length;
    for (let at = key.length - 1; at >= 0; at -= step) {
      mixed = (mixed * 31 + key.charCodeAt(at)) | 0;
    }
    return this.#parts[(mixed ^ (mixed >>> 12)) & (PARTS - 1)] as Map<string, V>;
  }
}
