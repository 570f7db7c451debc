/**
 * The verification of an agent that may be put off until it is first needed. It is done once at a
 * time, for all who wait; what failed is tried again, though not for everybody who asks.
 */
import type { Readiness } from "../remote-agent.ts";

/** How long a failure is believed. */
const RETRY_MS = 2_000;

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

  /** Verifies where that is still to be done, and waits for it as long as the signal lets it. */
  async ready(signal: AbortSignal): Promise<Readiness> {
    const known = this.#known;
    if (known?.kind === "ready") return known;
    if (known !== undefined && performance.now() - this.#failedAt < RETRY_MS) return known;
    this.#running ??= this.#run();
    return Promise.race([this.#running, timeUp(signal)]);
  }

  /** What was found is not there any more, unless something else was found since. */
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

function timeUp(signal: AbortSignal): Promise<Readiness> {
  const message = "the upstream did not answer in time";
  const failure = { kind: "failed", error: "upstream_timeout", message } as const;
  return new Promise((resolve) => {
    if (signal.aborted) resolve(failure);
    else signal.addEventListener("abort", () => resolve(failure), { once: true });
  });
}
