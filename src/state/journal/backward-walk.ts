/**
 * Walks an agent's chain in a journal back from its head, in the order in which the records stand,
 * so that it holds one of them at a time. What it passes over is in another place than its chain
 * says, or in none.   AGTP-IDENTIFIERS "Attribution Chain"
 */

import { hash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { decodeJws } from "../../identity/jws.ts";
import { type ChainReport, verifyChain } from "../records/verify-chain.ts";
import type { JournalChain } from "./journal-order.ts";
import type { SegmentPlace } from "./journal-view.ts";
import { type StoredRecord, segmentName } from "./segment.ts";

/** A record that is not where its chain has it. */
export interface PassedRecord {
  readonly auditId: string;
  readonly previous: unknown;
}

/** Nobody reads of more of them. */
export const MAX_PASSED = 10_000;
/** A journal that was written in order needs none. */
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

  /** The records that belong to the agent and not to the chain, the newest first. */
  get passed(): readonly PassedRecord[] {
    return this.#passed;
  }

  /** Walks the whole journal; undefined where it has no record of the agent. */
  async report(): Promise<ChainReport | undefined> {
    let head = (await this.#next())?.auditId;
    while (head !== undefined) {
      await this.#rewind();
      this.#passed = [];
      const { agentId, begin, keys, trustedHead, judge } = this.#chain;
      const fetch = (auditId: string): Promise<string | undefined> => this.#find(auditId);
      const report = await verifyChain({
        ...{ agentId, head, begin, keys, trustedHead, judge, fetch },
      });
      while ((await this.#next()) !== undefined);
      // A copy of an older record may stand behind the newest one.
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
    // One that has not come to its end has a file open.
    await this.#records.return(undefined);
    this.#records = recordsOf(this.#chain);
  }

  /** The next one towards the beginning, which the walk does not want. */
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

/** The records of an agent, the last one first. */
async function* recordsOf({ segments, agentId }: JournalChain): AsyncGenerator<StoredRecord> {
  for await (const record of readBackward(segments)) {
    if (decodeJws(record.jws)?.payload["agent_id"] === agentId) yield record;
  }
}

/** The end of the branch that goes on behind a record. */
function newestBehind(auditId: string, passed: readonly PassedRecord[]): string {
  const followers = new Map(passed.map((record) => [record.previous, record.auditId]));
  let newest = auditId;
  for (let next = followers.get(newest); next !== undefined; next = followers.get(newest)) {
    newest = next;
  }
  return newest;
}

const LINE_FEED = 0x0a;
const CHUNK = 64 * 1024;
/** No line that this program writes is longer. */
const MAX_LINE = 1024 * 1024;

/** Reads every whole line of every segment, the last one first. */
async function* readBackward(
  segments: readonly SegmentPlace[],
): AsyncGenerator<StoredRecord & { readonly segment: number }> {
  for (const { directory, number } of segments.toReversed()) {
    const file = await open(join(directory, segmentName(number)), "r");
    try {
      for await (const record of readSegmentBackward(file, segmentName(number))) {
        yield { ...record, segment: number };
      }
    } finally {
      await file.close();
    }
  }
}

async function* readSegmentBackward(file: FileHandle, name: string): AsyncGenerator<StoredRecord> {
  let { size: end } = await file.stat();
  /** The octets from `end` on that begin in a line whose beginning was not read yet. */
  let rest: Buffer = Buffer.alloc(0);
  let isTail = true;
  while (end > 0) {
    const start = Math.max(0, end - CHUNK);
    const chunk = Buffer.alloc(end - start);
    await file.read(chunk, 0, chunk.length, start);
    let octets = Buffer.concat([chunk, rest]);
    if (isTail) {
      // Half a line at the end is none.
      octets = octets.subarray(0, octets.lastIndexOf(LINE_FEED) + 1);
      isTail = octets.length === 0;
    }
    end = start;
    for (;;) {
      const before = octets.length < 2 ? -1 : octets.lastIndexOf(LINE_FEED, octets.length - 2);
      if (octets.length === 0 || (before === -1 && start > 0)) break;
      const jws = octets.toString("latin1", before + 1, octets.length - 1);
      const offset = start + before + 1;
      yield { jws, auditId: hash("sha256", jws), offset, length: jws.length };
      octets = octets.subarray(0, before + 1);
    }
    rest = octets;
    if (rest.length > MAX_LINE) throw new Error(`${name} holds no journal lines`);
  }
}
