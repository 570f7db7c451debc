/** Sends spans from a separate thread, so that no request waits for them. */
import { Worker } from "node:worker_threads";
import type { CollectorAddress } from "./config.ts";

interface ThreadSenderOptions extends SenderOptions {
  /** The built sending-thread.js. */
  readonly script: URL;
  /** Milliseconds without a thread after one failed; 10,000 by default. */
  readonly restMs?: number;
}

export interface NumberedBatch extends SpanBatch {
  readonly id: number;
}

export interface Fate {
  readonly id: number;
  /** The number of spans that the collector did not accept. */
  readonly lost: number;
}

/** A batch that was passed to the thread. */
interface Waiting {
  readonly count: number;
  settle(lost: number): void;
}

const REST_MS = 10_000;
/** The thread's heap; batches are few and small. */
const HEAP_MB = 64;

export class ThreadSender implements SpanSender {
  readonly #options: ThreadSenderOptions;
  #thread: Worker | undefined;
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;
  #restUntil = Number.NEGATIVE_INFINITY;

  /** Starts the thread at once, since it takes a while to be ready. */
  constructor(options: ThreadSenderOptions) {
    this.#options = options;
    this.#thread = this.#start();
  }

  /** Transfers the octets to the thread. */
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
    // Unsent spans do not keep the process alive.
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

/** The options of a sender, in a form that can be passed to a thread. */
export interface SenderOptions {
  readonly collector: CollectorAddress;
  /** The resource attributes of the daemon. */
  readonly resource: Readonly<Record<string, string>>;
}

/** A batch of encoded spans. */
export interface SpanBatch {
  readonly count: number;
  /** As written by `writeSpan`; owned by the sender once sent. */
  readonly octets: Uint8Array<ArrayBuffer>;
}

export interface SpanSender {
  /** Returns the number of spans that the collector did not accept. Never rejects. */
  send(batch: SpanBatch): Promise<number>;
  /** Stops sending. Never rejects. */
  close(): Promise<void>;
}
