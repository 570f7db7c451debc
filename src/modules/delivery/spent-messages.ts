/**
 * News that was delivered, or given up. Nobody asks what became of it; its id is remembered for a
 * while, so that it is not told again by whoever does not know yet that it was.
 */

/** Of all together: telling people something new makes the outbox no larger. */
const REMEMBERED = 1000;

export class SpentMessages {
  /** The oldest first. */
  readonly #ids = new Set<string>();

  /** Takes one in, and answers which are remembered no longer. */
  add(id: string): readonly string[] {
    this.#ids.add(id);
    const surplus: string[] = [];
    for (const oldest of this.#ids) {
      if (this.#ids.size <= REMEMBERED) break;
      this.#ids.delete(oldest);
      surplus.push(oldest);
    }
    return surplus;
  }

  delete(id: string): void {
    this.#ids.delete(id);
  }
}
