/**
 * The octets that arrived and were not yet taken, as one range. A chunk that is taken whole is never
 * copied; what has to wait for more is copied into a buffer that grows by doubling, so that n octets
 * cost O(n) however they were cut, and no more is held than about twice what arrived.
 */

const EMPTY: Buffer = Buffer.alloc(0);
const MIN_CAPACITY = 1024;

/** Owned by one parser, which reads `bytes` from `start` to `end`. */
export class ReceiveBuffer {
  bytes: Buffer = EMPTY;
  start = 0;
  end = 0;
  /** True when `bytes` was allocated here, so that the room behind `end` may be written. */
  #growable = false;

  get length(): number {
    return this.end - this.start;
  }

  /** Takes a chunk over; its owner must not write to it again. */
  append(chunk: Buffer): void {
    if (this.start === this.end) {
      this.bytes = chunk;
      this.start = 0;
      this.end = chunk.length;
      this.#growable = false;
      return;
    }
    if (!this.#growable || this.bytes.length - this.end < chunk.length) this.#grow(chunk.length);
    chunk.copy(this.bytes, this.end);
    this.end += chunk.length;
  }

  /** Removes the next octets. They are a view, valid for ever: what was taken is not overwritten. */
  take(length: number): Buffer {
    const taken = length === 0 ? EMPTY : this.bytes.subarray(this.start, this.start + length);
    this.skip(length);
    return taken;
  }

  /** Drops the next octets. */
  skip(length: number): void {
    this.start += length;
    // An idle connection holds no buffer.
    if (this.start === this.end) this.clear();
  }

  /** Has what waits for more keep no more alive than about twice itself. */
  detach(): void {
    const room = MIN_CAPACITY + 2 * this.length;
    if (this.length > 0 && !this.#growable && this.bytes.buffer.byteLength > room) this.#grow(0);
  }

  clear(): void {
    this.bytes = EMPTY;
    this.start = 0;
    this.end = 0;
    this.#growable = false;
  }

  #grow(room: number): void {
    const used = this.length;
    const grown = Buffer.allocUnsafeSlow(Math.max(MIN_CAPACITY, 2 * (used + room)));
    this.bytes.copy(grown, 0, this.start, this.end);
    this.bytes = grown;
    this.start = 0;
    this.end = used;
    this.#growable = true;
  }
}
