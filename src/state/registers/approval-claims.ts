/**
 * The approvals that calls of this process have claimed. A call claims one before any other can, and releases it if
 * it did not begin; its outcome is visible here until it is stored.   docs/approvals.md
 */
import type { Held } from "../holders.ts";
import type { ApprovalOutcome, ApprovalUse } from "./approval.ts";

/** An outcome that could not be stored, and the process that made the call. */
interface LeftOutcome extends Held {
  readonly outcome: ApprovalOutcome;
}

export class ApprovalClaims {
  /** By escalation; undefined: the call is in progress. */
  readonly #claims = new Map<string, ApprovalOutcome | undefined>();
  readonly #left = new Map<string, LeftOutcome>();

  /** Claims an approval for one call; false if another call has it. */
  claim(escalationId: string): boolean {
    if (this.#claims.has(escalationId)) return false;
    this.#claims.set(escalationId, undefined);
    return true;
  }

  /** Ends a claim: the call did not begin, or its outcome is stored. */
  release(escalationId: string): void {
    this.#claims.delete(escalationId);
  }

  /** True if a call has claimed the approval and is in progress. */
  isRunning(escalationId: string): boolean {
    return this.#claims.has(escalationId) && this.#claims.get(escalationId) === undefined;
  }

  /** Makes the outcome of a call with a claimed approval visible. */
  conclude(escalationId: string, outcome: ApprovalOutcome): void {
    if (this.#claims.has(escalationId)) this.#claims.set(escalationId, outcome);
  }

  /** Returns the outcome known here, if any. */
  outcomeOf(escalationId: string): ApprovalOutcome | undefined {
    return this.#claims.get(escalationId);
  }

  /** Leaves an outcome for `settle`; the use of the approval may be missing from the store too. */
  leave(escalationId: string, left: LeftOutcome): void {
    this.#left.set(escalationId, left);
  }

  get hasLeft(): boolean {
    return this.#left.size > 0;
  }

  /** Stores the outcomes left over; rejects at the first failure, and keeps that one and the rest. */
  async settle(
    keep: (
      escalationId: string,
      outcome: ApprovalOutcome,
      isMeant: (use: ApprovalUse) => boolean,
    ) => Promise<void>,
  ): Promise<void> {
    for (const [escalationId, { heldBy, outcome }] of [...this.#left]) {
      // A use by this process without a call in progress is over.
      const isOver = (use: ApprovalUse): boolean =>
        use.heldBy === heldBy && !this.#claims.has(escalationId);
      await keep(escalationId, outcome, isOver);
      this.#left.delete(escalationId);
    }
  }
}
