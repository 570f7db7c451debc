/**
 * Spans on their way to the collector, in batches. Their number is bounded, and those that do not
 * reach it are counted.
 */
import { channel } from "node:diagnostics_channel";
import { DROPPED_CHANNEL } from "../../dispatch/observer.ts";
import { RecordDraft } from "../../state/records/record.ts";
import type { LateFields } from "../../wire/message.ts";
import { ProtobufOctets } from "./protobuf-octets.ts";
import { writeSpan } from "./span-octets.ts";
import { ATTRIBUTES, type SpanRecord } from "./span-record.ts";
import type { SpanBatch, SpanSender } from "./thread-sender.ts";

/** Spans that wait or are on their way; beyond it the newest are dropped. */
const MAX_WAITING = 8_192;
/** A batch is full with so many spans, or with so many octets. */
const BATCH = 512;
const BATCH_BYTES = 512 * 1_024;
/** Batches on their way at once. */
const AT_ONCE = 8;
/** The longest that a span waits for others. */
const DELAY_MS = 1_000;

const dropped = channel(DROPPED_CHANNEL);

export class SpanQueue {
  readonly #sender: SpanSender;
  readonly #ended = new EndedSpans((span) => this.#take(span));
  /** The batch that is being written. */
  #octets = new ProtobufOctets();
  #count = 0;
  /** Batches that wait until fewer are on their way. */
  readonly #full: SpanBatch[] = [];
  readonly #sending = new Set<Promise<void>>();
  /** Spans in all of these, and in the batch that is being written. */
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #lost = 0;

  constructor(sender: SpanSender) {
    this.#sender = sender;
  }

  /** Takes a span that has ended, with the fields of the answer that are known later. */
  add(span: SpanRecord, late: LateFields | undefined): void {
    const isFull = this.#ended.count + this.#waiting >= MAX_WAITING;
    if (this.#isClosed || isFull) this.#drop(1);
    else this.#ended.add(span, late);
  }

  /**
   * Sends the spans that wait; those that have not arrived within the time are dropped. Answers how
   * many were lost since it was called. Never rejects.
   */
  async close(withinMs: number): Promise<number> {
    this.#isClosed = true;
    this.#lost = 0;
    this.#ended.close();
    clearTimeout(this.#timer);
    this.#finishBatch();
    for (const batch of this.#full.splice(0)) this.#send(batch);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, withinMs);
    });
    await Promise.race([Promise.all(this.#sending), late]);
    clearTimeout(timer);
    this.#sending.clear();
    this.#drop(this.#waiting);
    await this.#sender.close();
    return this.#lost;
  }

  #take(span: SpanRecord): void {
    writeSpan(this.#octets, span);
    this.#count += 1;
    this.#waiting += 1;
    if (this.#count >= BATCH || this.#octets.length >= BATCH_BYTES) {
      this.#finishBatch();
      this.#sendFull();
    } else this.#timer ??= setTimeout(() => this.#sendRest(), DELAY_MS).unref();
  }

  /** The last batch may be a small one. */
  #sendRest(): void {
    this.#timer = undefined;
    this.#finishBatch();
    this.#sendFull();
  }

  #finishBatch(): void {
    if (this.#count === 0) return;
    this.#full.push({ count: this.#count, octets: this.#octets.written });
    this.#octets = new ProtobufOctets();
    this.#count = 0;
  }

  #sendFull(): void {
    while (this.#sending.size < AT_ONCE) {
      const batch = this.#full.shift();
      if (batch === undefined) return;
      this.#send(batch);
    }
  }

  #send(batch: SpanBatch): void {
    const { count } = batch;
    const sent = this.#sender.send(batch).then((lost) => {
      // The closed queue has counted those that were on their way.
      if (!this.#sending.delete(sent)) return;
      this.#waiting -= count;
      this.#drop(lost);
      if (!this.#isClosed) this.#sendFull();
    });
    this.#sending.add(sent);
  }

  #drop(count: number): void {
    if (count === 0) return;
    this.#lost += count;
    if (dropped.hasSubscribers) dropped.publish({ count });
  }
}

/** The interval of looking for a record whose sealing takes longer than a turn. */
const LOOK_MS = 20;
const MAX_LOOKS = 50;

interface Ended {
  readonly span: SpanRecord;
  readonly draft: RecordDraft;
  looks: number;
}

/**
 * Spans that are over, for as long as the record that they are to name has no id yet: it has one when
 * it is sealed, a moment later. They are written as soon as they can, since everything else that hangs
 * on a request is to be forgotten with it.
 */
class EndedSpans {
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
