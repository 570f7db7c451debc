/**
 * The verification of an agent, done at the start or at first use. Concurrent callers share one attempt, and failures
 * are retried at a limited rate. A missing agent is looked up periodically with growing pauses, since its server may
 * recover without telling this one.
 */

import { pause } from "../../../base/back-off.ts";
import { raceAbort } from "../../../base/deadline.ts";
import type { CallLog } from "../../../handlers/handler.ts";
import type { Readiness } from "../remote-agent.ts";

/** The minimum time between a failure and the next attempt. */
const RETRY_MS = 2_000;

const TIME_UP: Readiness = {
  ...{ kind: "failed", error: "upstream_timeout" },
  message: "the upstream did not answer in time",
};

/** Verifies an agent and remembers the result. */
export class LazyReadiness {
  readonly #verify: () => Promise<Readiness>;
  #known: Readiness | undefined;
  #failedAt = Number.NEGATIVE_INFINITY;
  #running: Promise<Readiness> | undefined;

  /** `known` is the result at the start, if any. */
  constructor(verify: () => Promise<Readiness>, known?: Readiness) {
    this.#verify = verify;
    this.#known = known;
  }

  get isReady(): boolean {
    return this.#known?.kind === "ready";
  }

  /** The last fault; undefined if ready or not verified yet. */
  get fault(): string | undefined {
    return this.#known === undefined || this.#known.kind === "ready"
      ? undefined
      : this.#known.message;
  }

  /** Verifies if necessary, and waits for the result until the signal is aborted. */
  async ready(signal: AbortSignal): Promise<Readiness> {
    const known = this.#known;
    if (known?.kind === "ready") return known;
    if (known !== undefined && performance.now() - this.#failedAt < RETRY_MS) return known;
    this.#running ??= this.#run();
    const found = await raceAbort(this.#running, signal);
    return found === "aborted" ? TIME_UP : found;
  }

  /** Forgets a found agent that no longer exists, unless another was found since. */
  forget(agentId: string): void {
    if (this.#known?.kind === "ready" && this.#known.agentId === agentId) this.#known = undefined;
  }

  async #run(): Promise<Readiness> {
    try {
      const found = await this.#verify();
      this.#known = found;
      if (found.kind !== "ready") this.#failedAt = performance.now();
      return found;
    } finally {
      this.#running = undefined;
    }
  }
}

/** Options of looking for an agent. */
export interface SearchOptions {
  readonly readiness: Pick<LazyReadiness, "isReady" | "fault" | "ready">;
  /** The path that serves it. */
  readonly base: string;
  readonly log: Pick<CallLog, "info" | "warn">;
  /** Ends the search. */
  readonly signal: AbortSignal;
}

/** The pauses between attempts; the last one repeats. */
const PAUSES_MS = [2_000, 4_000, 8_000, 15_000, 30_000, 60_000];

/** Looks until the agent is found by this or another attempt. Never rejects. */
export async function lookAgain({ readiness, base, log, signal }: SearchOptions): Promise<void> {
  let told = readiness.fault;
  for (let count = 0; !readiness.isReady; count += 1) {
    const pauseMs = PAUSES_MS[Math.min(count, PAUSES_MS.length - 1)] ?? 0;
    if (!(await pause(pauseMs, signal))) return;
    const found = await readiness.ready(signal).catch(() => undefined);
    if (signal.aborted) return;
    if (found === undefined || found.kind === "ready" || found.message === told) continue;
    told = found.message;
    const hint = found.kind === "failed" ? found.hint : undefined;
    log.warn({ base, reason: told, hint }, "an agent is still not found");
  }
  log.info({ base }, "an agent is found, and served");
}
