/**
 * The approvals that calls of this process have. A call takes one before anybody else can, and gives it back where it
 * did not begin; what became of it is seen here until the store has it.   docs/approvals.md
 */
import type { Held } from "../holders.ts";
import type { ApprovalOutcome, ApprovalUse } from "./approval.ts";

/** An outcome that the store could not take, and the process whose call it is. */
interface LeftOutcome extends Held {
  readonly outcome: ApprovalOutcome;
}

export class ApprovalClaims {
  /** By escalation; undefined: its call is under way. */
  readonly #claims = new Map<string, ApprovalOutcome | undefined>();
  readonly #left = new Map<string, LeftOutcome>();

  /** Takes an approval for one call, of all that want it at once; false: another has it. */
  claim(escalationId: string): boolean {
    if (this.#claims.has(escalationId)) return false;
    this.#claims.set(escalationId, undefined);
    return true;
  }

  /** Ends a claim: the call did not begin, or what became of it is kept. */
  release(escalationId: string): void {
    this.#claims.delete(escalationId);
  }

  /** Tells whether a call has the approval, and is not answered yet. */
  isRunning(escalationId: string): boolean {
    return this.#claims.has(escalationId) && this.#claims.get(escalationId) === undefined;
  }

  /** The outcome of a call that has an approval is seen from now on. */
  conclude(escalationId: string, outcome: ApprovalOutcome): void {
    if (this.#claims.has(escalationId)) this.#claims.set(escalationId, outcome);
  }

  /** The outcome as it is known here. */
  outcomeOf(escalationId: string): ApprovalOutcome | undefined {
    return this.#claims.get(escalationId);
  }

  /** Leaves an outcome for `settle`; the store may lack the use of the approval, too. */
  leave(escalationId: string, left: LeftOutcome): void {
    this.#left.set(escalationId, left);
  }

  get hasLeft(): boolean {
    return this.#left.size > 0;
  }

  /** Keeps the outcomes that were left; rejects with the first that cannot be kept, and leaves it and those behind it. */
  async settle(
    keep: (
      escalationId: string,
      outcome: ApprovalOutcome,
      isMeant: (use: ApprovalUse) => boolean,
    ) => Promise<void>,
  ): Promise<void> {
    for (const [escalationId, { heldBy, outcome }] of [...this.#left]) {
      // The use of this process that no call of it has is over.
      const isOver = (use: ApprovalUse): boolean =>
        use.heldBy === heldBy && !this.#claims.has(escalationId);
      await keep(escalationId, outcome, isOver);
      this.#left.delete(escalationId);
    }
  }
}
