/**
 * Spans on their way to the collector, in batches: so many wait at most, and what does not reach it
 * is counted.
 */
import { channel } from "node:diagnostics_channel";
import { DROPPED_CHANNEL } from "../../dispatch/request-channels.ts";
import type { LateFields } from "../../wire/message.ts";
import { EndedSpans } from "./ended-spans.ts";
import type { SpanSender } from "./sending.ts";
import type { SpanRecord, SpanRow } from "./span-record.ts";

/** Spans that wait or are on their way; beyond it the newest are dropped. */
const MAX_WAITING = 8_192;
const BATCH = 256;
/** Batches on their way at once. */
const AT_ONCE = 8;
/** A span waits so long for others. */
const DELAY_MS = 1_000;

const dropped = channel(DROPPED_CHANNEL);

function drop(count: number): void {
  if (count > 0 && dropped.hasSubscribers) dropped.publish({ count });
}

export class SpanQueue {
  readonly #sender: SpanSender;
  readonly #ended = new EndedSpans((row) => this.#take(row));
  #waiting: SpanRow[] = [];
  /** Batches on their way, */
  readonly #sending = new Set<Promise<void>>();
  /** and the spans in them. */
  #onTheWay = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(sender: SpanSender) {
    this.#sender = sender;
  }

  /** Takes a span that has ended, with the fields of the answer that are known later. */
  add(span: SpanRecord, late: LateFields | undefined): void {
    const waiting = this.#ended.count + this.#waiting.length + this.#onTheWay;
    if (this.#isClosed || waiting >= MAX_WAITING) drop(1);
    else this.#ended.add(span, late);
  }

  /** Sends what waits, in its time; what has not arrived then is dropped. Never rejects. */
  async close(withinMs: number): Promise<void> {
    this.#isClosed = true;
    this.#ended.close();
    clearTimeout(this.#timer);
    while (this.#waiting.length > 0) this.#send();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, withinMs);
    });
    await Promise.race([Promise.all(this.#sending), late]);
    clearTimeout(timer);
    drop(this.#onTheWay);
    this.#sending.clear();
    await this.#sender.close();
  }

  #take(row: SpanRow): void {
    this.#waiting.push(row);
    if (this.#waiting.length >= BATCH) this.#sendFull();
    else this.#timer ??= setTimeout(() => this.#sendRest(), DELAY_MS).unref();
  }

  #sendFull(): void {
    while (this.#waiting.length >= BATCH && this.#sending.size < AT_ONCE) this.#send();
  }

  /** The last batch may be a small one. */
  #sendRest(): void {
    this.#timer = undefined;
    while (this.#waiting.length > 0 && this.#sending.size < AT_ONCE) this.#send();
  }

  #send(): void {
    const rows = this.#waiting.splice(0, BATCH);
    this.#onTheWay += rows.length;
    const sent = this.#sender.send(rows).then((isTaken) => {
      // What was on its way when the queue was closed has been counted.
      if (!this.#sending.delete(sent)) return;
      this.#onTheWay -= rows.length;
      if (!isTaken) drop(rows.length);
      if (!this.#isClosed) this.#sendFull();
    });
    this.#sending.add(sent);
  }
}
