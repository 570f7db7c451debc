/**
 * Walks an agent's chain back from its head in the order of the journal, with one record in memory at a time.
 * Records passed over are in another place than their chain says, or in no chain.   AGTP-IDENTIFIERS "Attribution
 * Chain"
 */
import { decodeJws } from "../../identity/jws.ts";
import { type ChainReport, verifyChain } from "../records/verify-chain.ts";
import type { JournalChain } from "./journal-order.ts";
import type { StoredRecord } from "./segment.ts";
import { readBackward } from "./segment-backward.ts";

/** A record that is not where its chain expects it. */
export interface PassedRecord {
  readonly auditId: string;
  readonly previous: unknown;
}

/** The most passed records kept, since nobody reads more. */
export const MAX_PASSED = 10_000;
/** The most restarts of the walk; a journal in order needs none. */
const MAX_REWINDS = 16;

export class BackwardWalk {
  readonly #chain: JournalChain;
  #records: AsyncGenerator<StoredRecord>;
  #rewinds = 0;
  #passed: PassedRecord[] = [];

  constructor(chain: JournalChain) {
    this.#chain = chain;
    this.#records = recordsOf(chain);
  }

  /** Records of the agent outside the chain, newest first. */
  get passed(): readonly PassedRecord[] {
    return this.#passed;
  }

  /** Walks the whole journal; undefined if it has no record of the agent. */
  async report(): Promise<ChainReport | undefined> {
    let head = (await this.#next())?.auditId;
    while (head !== undefined) {
      await this.#rewind();
      this.#passed = [];
      const fetch = (auditId: string): Promise<string | undefined> => this.#find(auditId);
      const report = await verifyChain({ ...this.#chain, head, fetch });
      while ((await this.#next()) !== undefined);
      // A copy of an older record may follow the newest one.
      const later = newestBehind(head, this.#passed);
      if (later === head) return report;
      head = later;
    }
    return undefined;
  }

  async #rewind(): Promise<void> {
    this.#rewinds += 1;
    if (this.#rewinds > MAX_REWINDS) {
      throw new Error("its records stand in an order in which nobody has written them");
    }
    // An unfinished generator has a file open.
    await this.#records.return(undefined);
    this.#records = recordsOf(this.#chain);
  }

  /** Returns the next record towards the beginning, and notes it as passed. */
  async #next(): Promise<StoredRecord | undefined> {
    const { value } = await this.#records.next();
    const record = value as StoredRecord | undefined;
    if (record !== undefined && this.#passed.length < MAX_PASSED) {
      const previous = decodeJws(record.jws)?.payload["previous_audit_id"];
      this.#passed.push({ auditId: record.auditId, previous });
    }
    return record;
  }

  async #find(auditId: string): Promise<string | undefined> {
    const found = await this.#findFurther(auditId);
    if (found !== undefined) return found;
    await this.#rewind();
    return this.#findFurther(auditId);
  }

  async #findFurther(auditId: string): Promise<string | undefined> {
    for (let record = await this.#next(); record !== undefined; record = await this.#next()) {
      if (record.auditId !== auditId) continue;
      if (this.#passed.at(-1)?.auditId === auditId) this.#passed.pop();
      return record.jws;
    }
    return undefined;
  }
}

/** Yields the records of an agent, last first. */
async function* recordsOf({ segments, agentId }: JournalChain): AsyncGenerator<StoredRecord> {
  for await (const record of readBackward(segments)) {
    if (decodeJws(record.jws)?.payload["agent_id"] === agentId) yield record;
  }
}

/** Returns the end of the branch that continues after a record. */
function newestBehind(auditId: string, passed: readonly PassedRecord[]): string {
  const followers = new Map(passed.map((record) => [record.previous, record.auditId]));
  let newest = auditId;
  for (let next = followers.get(newest); next !== undefined; next = followers.get(newest)) {
    newest = next;
  }
  return newest;
}
