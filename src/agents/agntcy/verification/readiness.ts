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

  /** Verifies where that is still to be done. */
  async ready(): Promise<Readiness> {
    const known = this.#known;
    if (known?.kind === "ready") return known;
    if (known !== undefined && performance.now() - this.#failedAt < RETRY_MS) return known;
    this.#running ??= this.#verify().finally(() => {
      this.#running = undefined;
    });
    const found = await this.#running;
    this.#known = found;
    if (found.kind !== "ready") this.#failedAt = performance.now();
    return found;
  }
}
