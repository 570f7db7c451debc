/**
 * Spans of requests that are answered, and whose record has no id yet: it has one when it is sealed,
 * a moment later. Each keeps the time of its own end.
 */
import type { Span } from "@opentelemetry/api";
import { RecordDraft } from "../../state/draft.ts";
import { ATTRIBUTES } from "./attributes.ts";
import { now } from "./clock.ts";

const LOOK_MS = 20;
/** Looks until a record that is never sealed is waited for no more. */
const MAX_LOOKS = 50;
const MAX_WAITING = 4_096;

interface Ending {
  readonly span: Span;
  readonly draft: RecordDraft;
  readonly at: number;
  looks: number;
}

export class EndingSpans {
  #waiting: Ending[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** Ends a span, with the id of its record if there is to be one. */
  end(span: Span, late: unknown): void {
    const isLate = late instanceof RecordDraft && !late.isKnown;
    if (!isLate || this.#waiting.length >= MAX_WAITING) {
      finish(span, late);
      return;
    }
    this.#waiting.push({ span, draft: late, at: now(), looks: 0 });
    this.#timer ??= setTimeout(() => this.#look(), LOOK_MS).unref();
  }

  /** Ends all that wait. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const { span, draft, at } of this.#waiting) finish(span, draft, at);
    this.#waiting = [];
  }

  #look(): void {
    this.#timer = undefined;
    const before = this.#waiting;
    this.#waiting = [];
    for (const ending of before) {
      ending.looks += 1;
      const isOver = ending.draft.isKnown || ending.looks >= MAX_LOOKS;
      if (isOver) finish(ending.span, ending.draft, ending.at);
      else this.#waiting.push(ending);
    }
    if (this.#waiting.length > 0) {
      this.#timer = setTimeout(() => this.#look(), LOOK_MS).unref();
    }
  }
}

function finish(span: Span, late: unknown, at: number = now()): void {
  if (late instanceof RecordDraft && late.isKnown) {
    span.setAttribute(ATTRIBUTES.auditId, late.auditId);
  }
  span.end(at);
}
