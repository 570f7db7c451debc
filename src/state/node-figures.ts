/** Figures of a node for its operator. */

export interface StoreCounts {
  commits: number;
  conflicts: number;
  records: number;
  /** Records signed again because another node had moved their chains. */
  recordsAgain: number;
}

export interface NodeFigures extends Readonly<StoreCounts> {
  /** The remaining time of the lease under which it serves. */
  readonly leaseMs: number;
  /** The time since the view was last fully up to date. */
  readonly viewAgeMs: number;
  /** The time since the store last received its heartbeat. */
  readonly heartbeatAgeMs: number;
}
