/**
 * Redacts a text that arrives in pieces: a piece is held back for as long as a secret may begin in
 * it. What comes out is authoritative, put together it is the text.   OpenWOP SR-1, RFC 0024
 */
import { type Redactor, replaceSpans } from "./redaction.ts";

/** While nothing comes out, so much more has to arrive before it is looked at again. */
const GROWTH = 1.25;

export class RedactedStream {
  readonly #redactor: Redactor;
  #held = "";
  #due = 0;

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  /** The part of the text so far that is past doubt, and was not given out before. */
  push(piece: string): string {
    this.#held += piece;
    if (this.#held.length < this.#due) return "";
    const spans = this.#redactor.spans(this.#held);
    let settled = this.#redactor.settledLength(this.#held);
    // A secret may be longer than what has been seen of it.
    for (const { start, end } of spans.toReversed()) {
      if (end >= settled) settled = Math.min(settled, start);
    }
    this.#due = settled === 0 ? this.#held.length * GROWTH : 0;
    const shown = replaceSpans(
      this.#held.slice(0, settled),
      spans.filter(({ end }) => end <= settled),
    );
    this.#held = this.#held.slice(settled);
    return shown;
  }

  /** The rest. */
  end(): string {
    const shown = this.#redactor.text(this.#held);
    this.#held = "";
    return shown;
  }
}
