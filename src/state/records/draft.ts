/**
 * A record that is not sealed yet: everything it says but the record it follows, its signature and
 * its Audit-ID. Drafts are sealed together, when the replies that carry them are about to leave.
 * AGTP-IDENTIFIERS "Attribution-Record"
 */
import type { LateFields } from "../../wire/message.ts";
import { type RecordPayload, reissued } from "./record.ts";
import type { Sealer } from "./sealer.ts";

/** Where a record belongs. */
export interface Chain {
  readonly agentId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The method of the recorded request. */
  readonly method: string;
  /** Set where the record says what has happened to its agent. */
  readonly isEvent?: true;
}

export class RecordDraft implements LateFields {
  readonly sealer: Sealer;
  #payload: RecordPayload;
  #chain: Chain | undefined;
  /** Compact serialization; empty before it is sealed. */
  jws = "";
  /** SHA-256 of the JWS, 64 lower-case hex digits; empty before it is sealed. */
  auditId = "";
  /** Its place among the drafts that wait for their store, from 1 on; 0: it does not. */
  number = 0;

  constructor(payload: RecordPayload, sealer: Sealer, chain: Chain | undefined) {
    this.#payload = payload;
    this.sealer = sealer;
    this.#chain = chain;
  }

  get payload(): RecordPayload {
    return this.#payload;
  }

  /** Undefined: the record is in no chain, and kept nowhere. */
  get chain(): Chain | undefined {
    return this.#chain;
  }

  /** Moves the record to a later time, in milliseconds since the epoch: its chain has gone on. */
  reissue(at: number): void {
    if (this.#chain === undefined || this.#chain.at === at) return;
    this.#chain = { ...this.#chain, at };
    this.#payload = reissued(this.#payload, at);
  }

  seal(jws: string, auditId: string): void {
    this.jws = jws;
    this.auditId = auditId;
  }

  get isKnown(): boolean {
    return this.auditId !== "";
  }

  /** As they stand in a response. */
  get lines(): string {
    return `Attribution-Record: ${this.jws}\r\nAudit-ID: ${this.auditId}\r\n`;
  }
}
