/** Sends spans by a thread of its own, so that no request waits for them. */
import { Worker } from "node:worker_threads";
import type { CollectorAddress } from "./config.ts";

interface ThreadSenderOptions extends SenderOptions {
  /** The built sending-thread.js. */
  readonly script: URL;
  /** How long none is started after one failed; 10 seconds unless given. */
  readonly restMs?: number;
}

export interface NumberedBatch extends SpanBatch {
  readonly id: number;
}

export interface Fate {
  readonly id: number;
  /** How many of its spans the collector has not taken. */
  readonly lost: number;
}

/** A batch that the thread has. */
interface Waiting {
  readonly count: number;
  settle(lost: number): void;
}

const REST_MS = 10_000;
/** Its heap: batches are few and small. */
const HEAP_MB = 64;

export class ThreadSender implements SpanSender {
  readonly #options: ThreadSenderOptions;
  #thread: Worker | undefined;
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;
  #restUntil = Number.NEGATIVE_INFINITY;

  /** The thread is started at once: it takes a while until it is ready. */
  constructor(options: ThreadSenderOptions) {
    this.#options = options;
    this.#thread = this.#start();
  }

  /** Hands the octets over to the thread. */
  send(batch: SpanBatch): Promise<number> {
    const { count } = batch;
    if (performance.now() < this.#restUntil) return Promise.resolve(count);
    this.#thread ??= this.#start();
    this.#last += 1;
    const id = this.#last;
    this.#thread.postMessage({ id, ...batch } satisfies NumberedBatch, [batch.octets.buffer]);
    return new Promise((settle) => this.#waiting.set(id, { count, settle }));
  }

  async close(): Promise<void> {
    const thread = this.#thread;
    this.#giveUp(Number.POSITIVE_INFINITY);
    await thread?.terminate();
  }

  #start(): Worker {
    const { script, collector, resource, restMs = REST_MS } = this.#options;
    const thread = new Worker(script, {
      workerData: { collector, resource } satisfies SenderOptions,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
      ...{ stdout: false, stderr: false },
    });
    // Requests keep the process alive, not their spans.
    thread.unref();
    thread.on("message", ({ id, lost }: Fate) => this.#settle(id, lost));
    const fail = (): void => {
      if (this.#thread === thread) this.#giveUp(performance.now() + restMs);
    };
    thread.on("error", fail);
    thread.on("exit", fail);
    return thread;
  }

  #settle(id: number, lost: number): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    waiting?.settle(lost);
  }

  #giveUp(restUntil: number): void {
    this.#thread = undefined;
    this.#restUntil = restUntil;
    for (const [id, { count }] of this.#waiting) this.#settle(id, count);
  }
}

/** Everything that sending needs to know, in a form that another thread can be given. */
export interface SenderOptions {
  readonly collector: CollectorAddress;
  /** The attributes of the daemon in the eyes of the collector. */
  readonly resource: Readonly<Record<string, string>>;
}

/** Spans that go together. */
export interface SpanBatch {
  readonly count: number;
  /** As `writeSpan` writes them; the sender's from then on. */
  readonly octets: Uint8Array<ArrayBuffer>;
}

export interface SpanSender {
  /** Answers how many of them the collector has not taken. Never rejects. */
  send(batch: SpanBatch): Promise<number>;
  /** Sends no more. Never rejects. */
  close(): Promise<void>;
}
