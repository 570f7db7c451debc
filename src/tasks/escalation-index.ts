/** The escalations in memory: by id, by who has how many, and by the task that waits for one. */
import { type Escalation, type EscalationStatus, statusAt } from "./escalation.ts";
import { type HoldingLimits, Holdings } from "./holdings.ts";

/** What goes first when room is needed: what no task waits for. What is open never goes. */
const RANKS: Readonly<Record<EscalationStatus, number | undefined>> = {
  pending_review: undefined,
  deferred: undefined,
  accepted: 0,
  expired: 1,
  rejected: 1,
};

export class EscalationIndex {
  /** The oldest first. */
  readonly #escalations = new Map<string, Escalation>();
  readonly #pauses = new Map<string, string>();
  readonly #holdings: Holdings;

  constructor(limits: HoldingLimits) {
    this.#holdings = new Holdings(limits);
  }

  get(escalationId: string): Escalation | undefined {
    return this.#escalations.get(escalationId);
  }

  all(): readonly Escalation[] {
    return [...this.#escalations.values()];
  }

  /** The escalation that a task of an agent waits for. */
  pauseOf(agentId: string, taskId: string): Escalation | undefined {
    if (this.#pauses.size === 0) return undefined;
    const escalationId = this.#pauses.get(pauseKey(agentId, taskId));
    return escalationId === undefined ? undefined : this.#escalations.get(escalationId);
  }

  /** What goes for one more of an agent; undefined: there is no room. */
  surplus(agentId: string, now: number): readonly string[] | undefined {
    return this.#holdings.surplus(agentId, (id) => {
      const escalation = this.#escalations.get(id);
      return escalation === undefined ? 0 : RANKS[statusAt(escalation, now)];
    });
  }

  /** Takes in a new one, or what one has become. A later one of the same task takes its place. */
  set(escalation: Escalation): void {
    const { escalationId, agentId, taskId, status } = escalation;
    const isNew = !this.#escalations.has(escalationId);
    this.#escalations.set(escalationId, escalation);
    if (isNew) this.#holdings.add(agentId, escalationId);
    if (taskId === undefined) return;
    if (isNew) this.#pauses.set(pauseKey(agentId, taskId), escalationId);
    if (status === "accepted") this.#endPause(agentId, taskId, escalationId);
  }

  delete(escalationId: string): void {
    const escalation = this.#escalations.get(escalationId);
    if (escalation === undefined) return;
    this.#escalations.delete(escalationId);
    this.#holdings.delete(escalationId);
    const { agentId, taskId } = escalation;
    if (taskId !== undefined) this.#endPause(agentId, taskId, escalationId);
  }

  #endPause(agentId: string, taskId: string, escalationId: string): void {
    const key = pauseKey(agentId, taskId);
    if (this.#pauses.get(key) === escalationId) this.#pauses.delete(key);
  }
}

/** No Agent-ID has a space. */
function pauseKey(agentId: string, taskId: string): string {
  return `${agentId} ${taskId}`;
}
