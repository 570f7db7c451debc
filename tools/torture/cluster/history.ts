/** The recorded requests of a cluster's clients, and the final content of its store. */

/** One request with its answer. Times are those of the clients' shared monotonic clock. */
export interface Asked {
  /** Its Request-ID. */
  readonly id: string;
  readonly node: string;
  /** The Agent-ID of the caller. */
  readonly agent: string;
  readonly kind:
    | "call"
    | "effect"
    | "suspend"
    | "resume"
    | "revoke"
    /** A call that needs an approval, the decision, and the call under it. */
    | "ask"
    | "decide"
    | "approved"
    /** The start of a run, and a query for it. */
    | "run"
    | "look";
  /**
   * Depending on the kind: the Idempotency-Key of an effect, the nonce of a resumption, the agent
   * of a revocation, the room of an approved call, the id of a run.
   */
  readonly key?: string | undefined;
  readonly sentAt: number;
  /** Undefined if it was never answered, so that its outcome is unknown. */
  readonly heardAt?: number | undefined;
  readonly status?: number | undefined;
  /** The error code of a refusal. */
  readonly code?: string | undefined;
  /** The Audit-ID of the answer's record. */
  readonly auditId?: string | undefined;
  /** The answered status of a run, or the key whose effect was answered. */
  readonly said?: string | undefined;
}

/** A period in which a node was cut off from its database. */
export interface CutOff {
  readonly node: string;
  readonly from: number;
  readonly until: number;
}

/** A promotion of a standby; everything that it had not received is lost. */
export interface Failover {
  /** Nothing that was sent after this time was lost by it. */
  readonly at: number;
  /** The nodes that ended because they noticed the loss. */
  readonly told: readonly string[];
}

/** A record as the store has it. */
export interface StoredRecord {
  readonly auditId: string;
  readonly agent: string;
  readonly previous: string;
  readonly requestId: string;
  readonly status: number;
  /** True if the server's key signed it. */
  readonly isSigned: boolean;
}

/** An effect of a handler, noted outside the database. */
export interface Effect {
  /** The Idempotency-Key, or the room of an approval; keys of the two kinds are distinct. */
  readonly key: string;
  readonly at: number;
}

/** An event in a run's log that ends it. */
export interface RunEnd {
  readonly run: string;
  readonly outcome: string;
  /** True if no event follows it. */
  readonly isLast: boolean;
}

const ENDS = ["completed", "failed", "cancelled"];

/** Returns true for the status of an ended run. */
export function isEnd(status: string | undefined): boolean {
  return status !== undefined && ENDS.includes(status);
}

/** The input of the checker. */
export interface Evidence {
  readonly asked: readonly Asked[];
  readonly cutOffs: readonly CutOff[];
  readonly failovers: readonly Failover[];
  readonly leaseMs: number;
  readonly records: readonly StoredRecord[];
  /** The Audit-ID of each agent's last record. */
  readonly heads: ReadonlyMap<string, string>;
  readonly effects: readonly Effect[];
  readonly runEnds: readonly RunEnd[];
}

/** A property that holds for every cluster. */
export interface Invariant {
  readonly name: string;
  check(evidence: Evidence): readonly string[];
}
