/** The notes of a cluster's clients, and what was found in its store when all was over. */

/** One request, and what its client was told. Times are of the clients' one monotonic clock. */
export interface Asked {
  /** Its Request-ID. */
  readonly id: string;
  readonly node: string;
  /** The agent that asks. */
  readonly agent: string;
  readonly kind: "call" | "effect" | "suspend" | "resume" | "revoke";
  /** The Idempotency-Key of an effect, the nonce of a resumption, the agent of a revocation. */
  readonly key?: string | undefined;
  readonly sentAt: number;
  /** Undefined: it was never answered, and nobody knows what became of it. */
  readonly heardAt?: number | undefined;
  readonly status?: number | undefined;
  /** Of a refusal. */
  readonly code?: string | undefined;
  /** Of the record that came with the answer. */
  readonly auditId?: string | undefined;
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
  readonly key: string;
  readonly at: number;
}

/** The end of a run, as often as it was told. */
export interface RunEnd {
  readonly run: string;
  readonly outcome: string;
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
