/**
 * Spans that are over, for as long as the record that they are to name has no id yet: it has one when
 * it is sealed, a moment later. They are written as soon as they can, since everything else that hangs
 * on a request is to be forgotten with it.
 */
import { RecordDraft } from "../../state/records/draft.ts";
import type { LateFields } from "../../wire/message.ts";
import { ATTRIBUTES } from "./attributes.ts";
import type { SpanRecord } from "./span-record.ts";

/** The interval of looking for a record whose sealing takes longer than a turn. */
const LOOK_MS = 20;
const MAX_LOOKS = 50;

interface Ended {
  readonly span: SpanRecord;
  readonly draft: RecordDraft;
  looks: number;
}

export class EndedSpans {
  readonly #take: (span: SpanRecord) => void;
  #waiting: Ended[] = [];
  #immediate: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** `take` gets each of them once. */
  constructor(take: (span: SpanRecord) => void) {
    this.#take = take;
  }

  get count(): number {
    return this.#waiting.length;
  }

  add(span: SpanRecord, late: LateFields | undefined): void {
    if (late instanceof RecordDraft && !late.isKnown) {
      this.#waiting.push({ span, draft: late, looks: 0 });
      this.#immediate ??= setImmediate(() => this.#look());
    } else this.#give(span, late);
  }

  /** Gives them all, also those that name no record. */
  close(): void {
    clearImmediate(this.#immediate);
    clearTimeout(this.#timer);
    for (const { span, draft } of this.#waiting.splice(0)) this.#give(span, draft);
  }

  #look(): void {
    this.#immediate = undefined;
    this.#timer = undefined;
    const before = this.#waiting;
    this.#waiting = [];
    for (const one of before) {
      one.looks += 1;
      if (one.draft.isKnown || one.looks > MAX_LOOKS) this.#give(one.span, one.draft);
      else this.#waiting.push(one);
    }
    if (this.#waiting.length > 0) this.#timer ??= setTimeout(() => this.#look(), LOOK_MS).unref();
  }

  #give(span: SpanRecord, late: LateFields | undefined): void {
    if (late instanceof RecordDraft && late.isKnown) span.set(ATTRIBUTES.auditId, late.auditId);
    this.#take(span);
  }
}
