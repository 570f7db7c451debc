/** The queue of spans to the collector, in batches. Its length is bounded, and lost spans are counted. */
import { channel } from "node:diagnostics_channel";
import { DROPPED_CHANNEL } from "../../dispatch/observer.ts";
import { RecordDraft } from "../../state/records/record.ts";
import type { LateFields } from "../../wire/message.ts";
import { ProtobufOctets } from "./protobuf-octets.ts";
import { writeSpan } from "./span-octets.ts";
import { ATTRIBUTES, type SpanRecord } from "./span-record.ts";
import type { SpanBatch, SpanSender } from "./thread-sender.ts";

/** Spans queued or being sent; beyond this the newest are dropped. */
const MAX_WAITING = 8_192;
/** A batch is full at either bound, in spans and in octets. */
const BATCH = 512;
const BATCH_BYTES = 512 * 1_024;
/** Batches being sent at once. */
const AT_ONCE = 8;
/** The longest wait of a span for its batch. */
const DELAY_MS = 1_000;

const dropped = channel(DROPPED_CHANNEL);

export class SpanQueue {
  readonly #sender: SpanSender;
  readonly #ended = new EndedSpans((span) => this.#take(span));
  /** The batch being written. */
  #octets = new ProtobufOctets();
  #count = 0;
  /** Full batches, queued until fewer are being sent. */
  readonly #full: SpanBatch[] = [];
  readonly #sending = new Set<Promise<void>>();
  /** Spans in every batch: being written, queued or being sent. */
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #lost = 0;

  constructor(sender: SpanSender) {
    this.#sender = sender;
  }

  /** Queues an ended span; `late` holds header fields that are known later. */
  add(span: SpanRecord, late: LateFields | undefined): void {
    const isFull = this.#ended.count + this.#waiting >= MAX_WAITING;
    if (this.#isClosed || isFull) this.#drop(1);
    else this.#ended.add(span, late);
  }

  /**
   * Sends the queued spans; those that do not arrive in time are dropped. Returns the number lost since the call.
   * Never rejects.
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

  /** Sends the batch being written, even if it is small. */
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
      // `close` has already counted the batches that it did not wait for.
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

/** How often a record is checked whose sealing takes longer than a turn. */
const LOOK_MS = 20;
const MAX_LOOKS = 50;

interface Ended {
  readonly span: SpanRecord;
  readonly draft: RecordDraft;
  looks: number;
}

/**
 * Ended spans whose record has no id yet; it gets one when it is sealed, a moment later. They are written as soon as
 * possible, so that they do not retain everything else of a request.
 */
class EndedSpans {
  readonly #take: (span: SpanRecord) => void;
  #waiting: Ended[] = [];
  #immediate: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Calls `take` once for each span. */
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

  /** Hands over all spans, even without a record's id. */
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
