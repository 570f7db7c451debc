/**
 * Makes the Attribution-Record of a response: its payload, its signature, its Audit-ID, and its place
 * in the chain of the agent it is about. Records of nobody in particular are signed and sent, and
 * kept nowhere: no stranger can make the server write.   AGTP-IDENTIFIERS "Attribution-Record"
 */
import { hash } from "node:crypto";
import type { Ledger } from "./ledger.ts";
import { NO_AUDIT_ID, type RecordFacts, recordPayload } from "./record.ts";
import type { RecordSigner } from "./signer.ts";

/** A record that can be sent. */
export interface AttributionRecord {
  /** SHA-256 of the JWS, 64 lower-case hex digits. */
  readonly auditId: string;
  /** Compact serialization. */
  readonly jws: string;
}

export interface AttributorOptions {
  readonly serverId: string;
  readonly signer: RecordSigner;
  readonly ledger: Ledger;
}

export class Attributor {
  readonly #serverId: string;
  readonly #signer: RecordSigner;
  readonly #ledger: Ledger;

  constructor({ serverId, signer, ledger }: AttributorOptions) {
    this.#serverId = serverId;
    this.#signer = signer;
    this.#ledger = ledger;
  }

  /** Whether records can be kept now. */
  get isWritable(): boolean {
    return this.#ledger.isWritable;
  }

  /** The next record of the agent's chain; it is kept once the ledger has settled. */
  chained(facts: RecordFacts, chain: string = facts.agentId): AttributionRecord {
    const at = Date.now();
    const record = this.#make(facts, this.#ledger.previousOf(chain), at);
    this.#ledger.append({ ...record, agentId: chain, at, method: facts.method });
    return record;
  }

  /** A record that is in no chain. */
  unchained(facts: RecordFacts): AttributionRecord {
    return this.#make(facts, NO_AUDIT_ID, Date.now());
  }

  #make(facts: RecordFacts, previousAuditId: string, at: number): AttributionRecord {
    const jws = this.#signer.sign(recordPayload(facts, this.#serverId, previousAuditId, at));
    return { auditId: hash("sha256", jws), jws };
  }
}
