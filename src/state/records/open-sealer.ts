/**
 * Chooses the sealer for a server's key. Unsigned records are sealed synchronously. A signature costs more than the
 * rest of a request, so signed records are sealed by a thread if there are several, and a spare core.
 */
import type { KeyObject } from "node:crypto";
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { JournalRecord } from "../journal/journal.ts";
import type { Deliver, Sealer, SealingJob } from "./record.ts";
import { createSealer, type RecordSigner, sealAll } from "./sealer.ts";
import type { SealingThreadData } from "./sealing-thread.ts";

/** The cores used by the main thread and by local clients. */
const CORES_TAKEN = 2;

/** Opens a sealer for this signer's records. */
export function openSealer(signer: RecordSigner, key: KeyObject | undefined): Sealer {
  const script = new URL("./sealing-thread.js", import.meta.url);
  // A thread that shares a core slows everything down.
  const isWorthwhile = key !== undefined && availableParallelism() > CORES_TAKEN;
  // A thread needs the built script, which is missing when the sources run directly.
  if (!isWorthwhile || !existsSync(fileURLToPath(script))) return createSealer(signer);
  return new ThreadSealer({ script, signer, key });
}

interface ThreadSealerOptions {
  /** The built sealing-thread.js. */
  readonly script: URL;
  readonly signer: RecordSigner;
  readonly key: KeyObject;
  /** How long no thread is started after one failed; default: 10 seconds. */
  readonly restMs?: number;
}

const REST_MS = 10_000;

/** Up to this many records are sealed faster without the thread. */
const FEW = 2;

/** A job sent to the thread. */
interface Waiting {
  readonly job: SealingJob;
  readonly deliver: Deliver;
  /** The current heads of the job's chains. */
  readonly heads: string[];
  /** The number of records received. */
  delivered: number;
  resolve(records: readonly JournalRecord[]): void;
}

/**
 * Seals in a thread, so that signing does not delay responses. Small jobs are sealed synchronously, which is faster,
 * and so is every job if the thread fails.
 */
export class ThreadSealer implements Sealer {
  readonly #options: ThreadSealerOptions;
  #thread: Worker | undefined;
  /** No thread is started before this time; one that failed to start may succeed later. */
  #restUntil = Number.NEGATIVE_INFINITY;
  readonly #waiting: Waiting[] = [];

  constructor(options: ThreadSealerOptions) {
    this.#options = options;
  }

  seal(
    job: SealingJob,
    deliver: Deliver,
  ): readonly JournalRecord[] | Promise<readonly JournalRecord[]> {
    const thread = job.payloads.length <= FEW ? undefined : this.#start();
    if (thread === undefined) return sealAll(job, this.#options.signer);
    return new Promise((resolve) => {
      this.#waiting.push({ job, deliver, heads: [...job.previous], delivered: 0, resolve });
      thread.postMessage(job);
    });
  }

  async close(): Promise<void> {
    const thread = this.#thread;
    this.#giveUp(Number.POSITIVE_INFINITY);
    await thread?.terminate();
  }

  /** Starts the thread at the first large job; undefined for a while after a failure. */
  #start(): Worker | undefined {
    if (performance.now() < this.#restUntil) return undefined;
    this.#thread ??= this.#startThread();
    return this.#thread;
  }

  #startThread(): Worker {
    const { script, key } = this.#options;
    const pem = key.export({ type: "pkcs8", format: "pem" }).toString();
    const data: SealingThreadData = { key: pem };
    const thread = new Worker(script, { workerData: data, stdout: false, stderr: false });
    // Only requests keep the process alive.
    thread.unref();
    thread.on("message", (records: readonly JournalRecord[]) => this.#receive(records));
    const fail = (): void => {
      const { restMs = REST_MS } = this.#options;
      if (this.#thread === thread) this.#giveUp(performance.now() + restMs);
    };
    thread.on("error", fail);
    thread.on("exit", fail);
    return thread;
  }

  #receive(records: readonly JournalRecord[]): void {
    const waiting = this.#waiting[0];
    if (waiting === undefined) return;
    const { job, heads } = waiting;
    for (const { auditId } of records) {
      const chain = job.chains[waiting.delivered] ?? -1;
      if (chain >= 0) heads[chain] = auditId;
      waiting.delivered += 1;
    }
    if (waiting.delivered < job.payloads.length) waiting.deliver(records);
    else {
      this.#waiting.shift();
      waiting.resolve(records);
    }
  }

  /** Seals the jobs' missing records without the thread. */
  #giveUp(restUntil: number): void {
    this.#restUntil = restUntil;
    this.#thread = undefined;
    for (const { job, heads, delivered, resolve } of this.#waiting.splice(0)) {
      const payloads = job.payloads.slice(delivered);
      const chains = job.chains.slice(delivered);
      resolve(sealAll({ payloads, chains, previous: heads }, this.#options.signer));
    }
  }
}
