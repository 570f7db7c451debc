/**
 * The sealer that a server's key calls for. Unsigned records are sealed on the spot. A signature
 * costs more than all the rest of answering a request, so signed ones are sealed by a thread of
 * their own whenever there is more than a little to do, and a core for it.
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

/** By the thread that answers, and by whoever asks. */
const CORES_TAKEN = 2;

/** A sealer for records of this signer. */
export function openSealer(signer: RecordSigner, key: KeyObject | undefined): Sealer {
  const script = new URL("./sealing-thread.js", import.meta.url);
  // A thread that shares the core with the others makes all of them slower.
  const isWorthwhile = key !== undefined && availableParallelism() > CORES_TAKEN;
  // A thread runs built code only; where the sources themselves run, there is none to start.
  if (!isWorthwhile || !existsSync(fileURLToPath(script))) return createSealer(signer);
  return new ThreadSealer({ script, signer, key });
}

interface ThreadSealerOptions {
  /** The built sealing-thread.js. */
  readonly script: URL;
  readonly signer: RecordSigner;
  readonly key: KeyObject;
  /** How long none is started after one failed; 10 seconds unless given. */
  readonly restMs?: number;
}

const REST_MS = 10_000;

/** Up to so many records are sealed sooner on the spot. */
const FEW = 2;

/** A job that the thread has. */
interface Waiting {
  readonly job: SealingJob;
  readonly deliver: Deliver;
  /** Where the chains of the job end so far. */
  readonly heads: string[];
  /** Records that came back. */
  delivered: number;
  resolve(records: readonly JournalRecord[]): void;
}

/**
 * Seals by a thread of its own, so that signing does not hold up answering. What is little is sealed on
 * the spot, which is sooner than asking; and so is everything, should the thread fail.
 */
export class ThreadSealer implements Sealer {
  readonly #options: ThreadSealerOptions;
  #thread: Worker | undefined;
  /** None is started before; a thread that could not be started once may well be later. */
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

  /** Started when there is much to seal for the first time; undefined for a while after it failed. */
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
    // Requests keep the process alive, not their records.
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

  /** Without the thread, what it has not sent back is done here. */
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
