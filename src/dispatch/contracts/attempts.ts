/**
 * The last attempts to negotiate that came to nothing, each under the id that its 464 carried, for
 * INSPECT. The oldest are forgotten.   AGTP "INSPECT", AGTP-API §10.1.2
 */
import { uuidv7 } from "../../identity/uuid.ts";

/** An attempt, as INSPECT shows it; keys are the wire's own. */
export interface NegotiationAttempt {
  readonly attempt_id: string;
  readonly agent_id: string;
  readonly method_attempted: string;
  readonly path_attempted: string;
  readonly trust_tier: number | null;
  /** `open`, `closed`, or `unseen` when an earlier lock was closed. */
  readonly locks: Readonly<Record<string, string>>;
  readonly reason: string;
  readonly explanation: string;
  /** RFC 3339. */
  readonly at: string;
}

const REMEMBERED = 1_000;
const PER_AGENT = 200;

export class Attempts {
  readonly #attempts = new Map<string, NegotiationAttempt>();
  readonly #counts = new Map<string, number>();

  /** Remembers an attempt, and answers its id. */
  add(attempt: Omit<NegotiationAttempt, "attempt_id" | "at">): string {
    const attemptId = `rcns-${uuidv7()}`;
    const at = new Date().toISOString();
    if ((this.#counts.get(attempt.agent_id) ?? 0) >= PER_AGENT) this.#dropOldest(attempt.agent_id);
    else if (this.#attempts.size >= REMEMBERED) this.#dropOldest();
    this.#attempts.set(attemptId, { attempt_id: attemptId, ...attempt, at });
    this.#counts.set(attempt.agent_id, (this.#counts.get(attempt.agent_id) ?? 0) + 1);
    return attemptId;
  }

  find(attemptId: string): NegotiationAttempt | undefined {
    return this.#attempts.get(attemptId);
  }

  /** The oldest of one agent, or of all: nobody drives out what others may still ask for. */
  #dropOldest(agentId?: string): void {
    for (const [id, attempt] of this.#attempts) {
      if (agentId !== undefined && attempt.agent_id !== agentId) continue;
      this.#attempts.delete(id);
      const left = (this.#counts.get(attempt.agent_id) ?? 1) - 1;
      if (left > 0) this.#counts.set(attempt.agent_id, left);
      else this.#counts.delete(attempt.agent_id);
      return;
    }
  }
}
