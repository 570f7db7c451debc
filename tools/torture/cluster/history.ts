/** The notes of a cluster's clients, and what was found in its store when all was over. */

/** One request, and what its client was told. Times are of the clients' one monotonic clock. */
export interface Asked {
  /** Its Request-ID. */
  readonly id: string;
  readonly node: string;
  /** The agent that asks. */
  readonly agent: string;
  readonly kind:
    | "call"
    | "effect"
    | "suspend"
    | "resume"
    | "revoke"
    /** A call that waits for an approval, the decision, and the call under it. */
    | "ask"
    | "decide"
    | "approved"
    /** The beginning of a run, and a look at it. */
    | "run"
    | "look";
  /**
   * The Idempotency-Key of an effect, the nonce of a resumption, the agent of a revocation, the room of a
   * call that is approved, the id of a run.
   */
  readonly key?: string | undefined;
  readonly sentAt: number;
  /** Undefined: it was never answered, and nobody knows what became of it. */
  readonly heardAt?: number | undefined;
  readonly status?: number | undefined;
  /** Of a refusal. */
  readonly code?: string | undefined;
  /** Of the record that came with the answer. */
  readonly auditId?: string | undefined;
  /** The status of a run, or the key that an effect was done for, as it was told. */
  readonly said?: string | undefined;
}

/** A time in which nothing passed between a node and its database. */
export interface CutOff {
  readonly node: string;
  readonly from: number;
  readonly until: number;
}

/** A standby took over; what it had not received is gone. */
export interface Failover {
  /** Nothing that was sent later was lost by it. */
  readonly at: number;
  /** The nodes that ended with the news that the store went back. */
  readonly told: readonly string[];
}

/** A record as the store has it. */
export interface StoredRecord {
  readonly auditId: string;
  readonly agent: string;
  readonly previous: string;
  readonly requestId: string;
  readonly status: number;
  /** True where the server's key signed it. */
  readonly isSigned: boolean;
}

/** Something that a handler did, noted where no database can lose it. */
export interface Effect {
  /** Its Idempotency-Key, or the room of an approval: no two calls that may both have it have the same. */
  readonly key: string;
  readonly at: number;
}

/** An event of a run's log that ends it. */
export interface RunEnd {
  readonly run: string;
  readonly outcome: string;
  /** Nothing comes after it. */
  readonly isLast: boolean;
}

const ENDS = ["completed", "failed", "cancelled"];

/** Tells whether a run with this status is over. */
export function isEnd(status: string | undefined): boolean {
  return status !== undefined && ENDS.includes(status);
}

/** All that a checker looks at. */
export interface Evidence {
  readonly asked: readonly Asked[];
  readonly cutOffs: readonly CutOff[];
  readonly failovers: readonly Failover[];
  readonly leaseMs: number;
  readonly records: readonly StoredRecord[];
  /** By agent the Audit-ID of its last record. */
  readonly heads: ReadonlyMap<string, string>;
  readonly effects: readonly Effect[];
  readonly runEnds: readonly RunEnd[];
}

/** A statement that holds of every cluster. */
export interface Invariant {
  readonly name: string;
  check(evidence: Evidence): readonly string[];
}
