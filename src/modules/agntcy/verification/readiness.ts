/**
 * The verification of an agent that may be put off until it is first needed. It is done once at a
 * time, for all who wait; what failed is tried again, though not for everybody who asks.
 */
import { raceAbort } from "../../../base/race-abort.ts";
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
