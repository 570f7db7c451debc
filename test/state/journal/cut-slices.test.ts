/** A cut beside what is served: between any two turns of the loop it does a bounded part of its work. */

import { hash } from "node:crypto";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { readCutHeads, writeCutHeads } from "../../../src/state/journal/cut-heads.ts";
import {
  headsAfter,
  journalSegment,
  surveySegments,
} from "../../../src/state/journal/cut-survey.ts";
import { DISK } from "../../../src/state/journal/journal-disk.ts";
import { moveSegments, writeCut } from "../../../src/state/journal/make-cut.ts";
import { listSegments, readSegment, segmentName } from "../../../src/state/journal/segment.ts";
import { NO_AUDIT_ID } from "../../../src/state/records/record.ts";
import { createRecordSigner } from "../../../src/state/records/sealer.ts";
import { makeKeyPair } from "../../support/attribution-chain.ts";
import { createDirectory } from "../../support/directory.ts";

const CHAINS = 4_000;
const SEGMENTS = 3;
/** Two chunks of a file: one may follow another that was short. */
const MOST_OCTETS = 2 * 64 * 1024;

const directory = createDirectory();

/** Each segment has one record of each chain. */
beforeAll(() => {
  const signer = createRecordSigner();
  const ends = new Map<number, string>();
  for (let number = 1; number <= SEGMENTS; number += 1) {
    const lines = Array.from({ length: CHAINS }, (_, chain) => {
      const payload = {
        agent_id: hash("sha256", String(chain)),
        previous_audit_id: ends.get(chain) ?? NO_AUDIT_ID,
        issued_at: "2026-01-15T09:00:00.000Z",
        method: "QUERY",
      };
      const jws = signer.sign(JSON.stringify(payload));
      ends.set(chain, hash("sha256", jws));
      return `${jws}\n`;
    });
    writeFileSync(join(directory, segmentName(number)), lines.join(""));
  }
});

const octetsOf = (number: number): number => statSync(join(directory, segmentName(number))).size;

/** Counts work between turns of the loop. */
class Turns {
  #inThis = 0;
  #most = 0;
  #count = 0;
  #isOver = false;

  constructor() {
    const next = (): void => {
      this.#inThis = 0;
      this.#count += 1;
      if (!this.#isOver) setImmediate(next);
    };
    setImmediate(next);
  }

  spend(amount: number): void {
    this.#inThis += amount;
    this.#most = Math.max(this.#most, this.#inThis);
  }

  end(): { readonly most: number; readonly count: number } {
    this.#isOver = true;
    return { most: this.#most, count: this.#count };
  }
}

describe("a cut", () => {
  it("reads a chunk of a segment in a turn", async () => {
    const turns = new Turns();
    let octets = 0;
    for await (const { length } of readSegment(directory, 1)) {
      turns.spend(length + 1);
      octets += length + 1;
    }
    expect(octets).toBe(octetsOf(1));
    expect(turns.end().most).toBeLessThanOrEqual(MOST_OCTETS);
  });

  it("writes and reads a chunk of the ends of chains in a turn", async () => {
    const survey = await surveySegments([1, 2].map((number) => journalSegment(directory, number)));
    expect(survey.chains.size).toBe(CHAINS);
    const writing = new Turns();
    async function* counted() {
      for await (const head of headsAfter([], survey)) {
        writing.spend(JSON.stringify(head).length);
        yield head;
      }
    }
    const heads = await writeCutHeads(directory, "counted.heads", counted());
    expect(heads.chains).toBe(CHAINS);
    const written = writing.end();
    const reading = new Turns();
    let read = 0;
    for await (const head of readCutHeads(directory, heads)) {
      reading.spend(JSON.stringify(head).length);
      read += 1;
      expect(head.sequence).toBe(2);
    }
    expect(read).toBe(CHAINS);
    expect([written.most, reading.end().most].every((most) => most <= MOST_OCTETS)).toBe(true);
    expect(statSync(join(directory, "counted.heads")).size).toBeGreaterThan(3 * MOST_OCTETS);
  });

  it("gives way at each chunk from its beginning to its end", async () => {
    const numbers = [1, 2, 3];
    const octets = numbers.map(octetsOf).reduce((sum, one) => sum + one, 0);
    const { privateKey } = makeKeyPair();
    const author = { signer: createRecordSigner(privateKey), serverId: "x.example", now: 0 };
    const place = { directory, archive: join(directory, "archive"), disk: DISK };
    const turns = new Turns();
    await moveSegments(place, await writeCut(place, numbers, author));
    // Each octet is read twice: for the chains and for the digest.
    expect(turns.end().count).toBeGreaterThanOrEqual((2 * octets) / MOST_OCTETS);
    expect(listSegments(directory)).toEqual([]);
    expect(listSegments(place.archive)).toEqual(numbers);
  });
});
