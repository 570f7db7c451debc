/**
 * Checks that records that stand in a row are chains, each record behind the one that it names: in
 * one pass, with one Audit-ID in memory for each agent. What a repair has written off may be missing.
 * AGTP-IDENTIFIERS "Attribution Chain"
 */
import { hash } from "node:crypto";
import { decodeJws } from "../../identity/jws.ts";
import { readChainRecord } from "../journal/journal-replay.ts";
import { NO_AUDIT_ID } from "./record.ts";

/** A record that was taken. */
export interface LinkedRecord {
  readonly agentId: string;
  readonly auditId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
}

/** The facts that records are held against. */
interface KnownLinks {
  /** The records, by agent, that have to come by where there are any of that agent. */
  readonly heads: ReadonlyMap<string, string>;
  /** False where the oldest records may have been taken away. */
  readonly isWhole: boolean;
}

/** Nobody reads more of them. */
const MAX_HOLES = 10_000;

export class ChainLinks {
  readonly #isWhole: boolean;
  readonly #heads = new Map<string, string>();
  /** Heads that are known of, until they have come by. */
  readonly #expected: Map<string, string>;
  /** The faults, by the Audit-ID that is not where it is named. */
  readonly #holes = new Map<string, string>();

  constructor({ heads, isWhole }: KnownLinks) {
    this.#expected = new Map(heads);
    this.#isWhole = isWhole;
  }

  /** How many chains there are. */
  get chains(): number {
    return this.#heads.size;
  }

  /** Takes the next record; undefined for what is none. `place` begins what is said of it. */
  add(jws: string, place: string): LinkedRecord | undefined {
    const record = readChainRecord(jws);
    if (record === undefined) return undefined;
    const { agentId, at, method, previous, isEvent } = record;
    const auditId = hash("sha256", jws);
    const before = this.#heads.get(agentId) ?? (this.#isWhole ? NO_AUDIT_ID : previous);
    // A chain of which nothing was left begins anew.
    if (previous !== before && previous !== NO_AUDIT_ID && this.#holes.size < MAX_HOLES) {
      const said = `record ${auditId} of agent ${agentId} follows record ${previous}, which is not the one before it`;
      this.#holes.set(previous, `${place} ${said}`);
    }
    if (isEvent && this.#holes.size > 0) this.#writeOff(jws);
    this.#heads.set(agentId, auditId);
    if (this.#expected.get(agentId) === auditId) this.#expected.delete(agentId);
    return { agentId, auditId, at, method };
  }

  /** A record that is missing, in words. */
  fault(): string | undefined {
    for (const said of this.#holes.values()) return said;
    for (const [agentId, auditId] of this.#expected) {
      if (!this.#heads.has(agentId) && !this.#isWhole) continue;
      return `record ${auditId} of agent ${agentId} is missing, which is known to have been in its chain`;
    }
    return undefined;
  }

  #writeOff(jws: string): void {
    const payload = decodeJws(jws)?.payload;
    const lost = payload?.["event_type"] === "chain-repaired" ? payload["lost_records"] : [];
    if (Array.isArray(lost)) for (const auditId of lost) this.#holes.delete(String(auditId));
  }
}
