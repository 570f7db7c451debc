/** Start lines by their octets, for a parser that meets the same ones again and again. */

const PLACES = 256;
const MAX_LENGTH = 128;

/**
 * The start lines that peers send again and again: what each says, and the hashes of its texts, are known then. They
 * are compared as octets, where they arrived: one that is known is never decoded, and one that is always new costs
 * little more. Found by length and last octets, where a later line takes the place of an earlier one. One for all
 * parsers of a kind.
 */
export class StartLineMemory<Start> {
  readonly #octets = new Uint8Array(PLACES * MAX_LENGTH);
  readonly #lengths = new Uint8Array(PLACES);
  readonly #starts = new Array<Start | undefined>(PLACES).fill(undefined);

  /** The meaning of the line that begins at `from`; undefined: it is not known. */
  find(bytes: Uint8Array, from: number, length: number): Start | undefined {
    const place = placeOf(bytes, from, length);
    return this.#isAt(place, bytes, from, length) ? this.#starts[place] : undefined;
  }

  /** Notes a line; true: it was the last one in its place, so that it is worth keeping. */
  note(bytes: Uint8Array, from: number, length: number): boolean {
    const place = placeOf(bytes, from, length);
    if (length > MAX_LENGTH) return false;
    if (this.#isAt(place, bytes, from, length)) return true;
    const base = place * MAX_LENGTH;
    for (let at = 0; at < length; at += 1) this.#octets[base + at] = bytes[from + at]!;
    this.#lengths[place] = length;
    this.#starts[place] = undefined;
    return false;
  }

  /** Keeps what a noted line says, in texts of its own. */
  keep(bytes: Uint8Array, from: number, length: number, start: Start): void {
    this.#starts[placeOf(bytes, from, length)] = start;
  }

  /** Lines of one place differ at their end, if anywhere. */
  #isAt(place: number, bytes: Uint8Array, from: number, length: number): boolean {
    if (this.#lengths[place] !== length) return false;
    const octets = this.#octets;
    const base = place * MAX_LENGTH;
    for (let at = length - 1; at >= 0; at -= 1) {
      if (octets[base + at] !== bytes[from + at]) return false;
    }
    return true;
  }
}

function placeOf(bytes: Uint8Array, from: number, length: number): number {
  const end = from + length;
  // Not a number, for a line that is too short, is place 0.
  return (
    ((length * 31 + bytes[end - 1]! * 7 + bytes[end - 2]! * 3 + bytes[end - 5]!) >>> 0) % PLACES
  );
}
