/**
 * The verification of an agent that may be put off until it is first needed. It is done once at a
 * time, for all who wait; what failed is tried again, though not for everybody who asks.
 * An agent that was not found is looked for again and again, less and less often: its server may come
 * up, or be set right, and nobody has to tell this one.
 */

import { pause } from "../../../base/back-off.ts";
import { raceAbort } from "../../../base/deadline.ts";
import type { CallLog } from "../../../handlers/handler.ts";
import type { Readiness } from "../remote-agent.ts";

/** The time after which a failure is looked into again. */
const RETRY_MS = 2_000;

const TIME_UP: Readiness = {
  ...{ kind: "failed", error: "upstream_timeout" },
  message: "the upstream did not answer in time",
};

/** Remembers what came of it. */
export class LazyReadiness {
  readonly #verify: () => Promise<Readiness>;
  #known: Readiness | undefined;
  #failedAt = Number.NEGATIVE_INFINITY;
  #running: Promise<Readiness> | undefined;

  /** `known`: what was found at the start. */
  constructor(verify: () => Promise<Readiness>, known?: Readiness) {
    this.#verify = verify;
    this.#known = known;
  }

  get isReady(): boolean {
    return this.#known?.kind === "ready";
  }

  /** Why it is not ready, as far as anybody has looked. */
  get fault(): string | undefined {
    return this.#known === undefined || this.#known.kind === "ready"
      ? undefined
      : this.#known.message;
  }

  /** Verifies where that is still to be done, and waits for it as long as the signal lets it. */
  async ready(signal: AbortSignal): Promise<Readiness> {
    const known = this.#known;
    if (known?.kind === "ready") return known;
    if (known !== undefined && performance.now() - this.#failedAt < RETRY_MS) return known;
    this.#running ??= this.#run();
    const found = await raceAbort(this.#running, signal);
    return found === "aborted" ? TIME_UP : found;
  }

  /** The agent that was found is not there any more, unless something else was found since. */
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
  /** The path that it is served on. */
  readonly base: string;
  readonly log: Pick<CallLog, "info" | "warn">;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** The last one is kept to. */
const PAUSES_MS = [2_000, 4_000, 8_000, 15_000, 30_000, 60_000];

/** Ends when the agent is found, whoever has found it. Never rejects. */
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
