import {
  appendFileSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { findLosses } from "../../../src/state/journal/journal-comparison.ts";
import {
  type JournalDamage,
  JournalDamageError,
} from "../../../src/state/journal/journal-damage.ts";
import { readSyncedMark } from "../../../src/state/journal/journal-sync.ts";
import { listSegments } from "../../../src/state/journal/segment.ts";
import { readKnownChains } from "../../../src/state/records/known-chains.ts";
import { openLedger } from "../../../src/state/records/open-ledger.ts";
import type { ChainHead } from "../../../src/state/records/record-store.ts";
import { makeDirectory } from "../../support/directory.ts";
import { makeDraft } from "../../support/ledger.ts";
import { PATIENCE } from "../../support/patience.ts";
import { cutLines, type ReadRecord, readJournal } from "../../support/records.ts";
import { type LastingStore, makeLastingStore, openTestState } from "../../support/state.ts";

const ALICE = "a".repeat(64);
const BOB = "b".repeat(64);

interface Kept {
  readonly directory: string;
  readonly store: LastingStore;
  readonly records: readonly ReadRecord[];
  /** The path of a segment. */
  segment(number: number): string;
}

/** A journal of these agents' records, in segments of so many octets. */
async function keep(
  agents: readonly string[],
  { segmentBytes = 1e6, isClosed = true } = {},
): Promise<Kept> {
  const [directory, store] = [makeDirectory(), makeLastingStore()];
  const journalDirectory = join(directory, "journal");
  const onFault = (): void => undefined;
  const opened = await openLedger({ store, journalDirectory, segmentBytes, onFault });
  for (const agent of agents) {
    opened.ledger.add(makeDraft(agent));
    await opened.ledger.settled();
  }
  if (isClosed) await opened.close();
  const segment = (number: number): string => join(journalDirectory, `0000000${number}.jws`);
  return { directory, store, records: readJournal(journalDirectory), segment };
}

async function damagesOf({ directory, store }: Kept): Promise<readonly JournalDamage[]> {
  try {
    await (await openTestState(directory, store)).close();
    return [];
  } catch (error) {
    if (error instanceof JournalDamageError) return error.damages;
    throw error;
  }
}

const lost = (record: ReadRecord | undefined, file = "00000001.jws") => ({
  kind: "lost-record",
  agentId: record?.payload["agent_id"],
  auditId: record?.auditId,
  file,
});

// AGTP-IDENTIFIERS "Audit Log"
describe("a start over a journal", () => {
  it("names each chain's lost head after a clean stop, and writes nothing", async () => {
    const kept = await keep([ALICE, BOB, ALICE, BOB, BOB, ALICE]);
    cutLines(kept.segment(1), 3);
    const before = readFileSync(kept.segment(1), "latin1");
    const expected = [lost(kept.records[4]), lost(kept.records[5])];
    for (let start = 1; start <= 2; start += 1) {
      expect(await damagesOf(kept)).toEqual(expect.arrayContaining(expected));
    }
    expect(readFileSync(kept.segment(1), "latin1")).toBe(before);
  });

  it("does not take half of an acknowledged record for a torn tail", async () => {
    const kept = await keep([ALICE]);
    truncateSync(kept.segment(1), 40);
    expect(await damagesOf(kept)).toEqual([lost(kept.records[0])]);
  });

  it("notices a head that was exchanged for another text of its length", async () => {
    const kept = await keep([ALICE]);
    const text = readFileSync(kept.segment(1), "latin1");
    writeFileSync(kept.segment(1), text.replace(/.{3}\n$/, "AAA\n"));
    expect(await damagesOf(kept)).toEqual([lost(kept.records[0])]);
  });

  it("misses the whole journal", async () => {
    const kept = await keep([ALICE]);
    rmSync(join(kept.directory, "journal"), { recursive: true });
    expect(await damagesOf(kept)).toEqual([lost(kept.records[0])]);
  });

  it("misses the newest segment, and lets the oldest go", async () => {
    const kept = await keep([ALICE, ALICE, BOB, BOB, BOB, BOB], { segmentBytes: 300 });
    rmSync(kept.segment(1));
    expect(await damagesOf(kept)).toEqual([]);
    const again = await keep([ALICE, ALICE, BOB, BOB, BOB], { segmentBytes: 300 });
    rmSync(again.segment(5));
    expect(await damagesOf(again)).toEqual([lost(again.records[4], "00000005.jws")]);
  });

  it("finds the heads of an earlier build, which did not note their places", async () => {
    const kept = await keep([ALICE, BOB, ALICE]);
    for (const { key, value } of await kept.store.list("chain-heads")) {
      const { audit_id, at, method } = value as Record<string, unknown>;
      const earlier = { audit_id, at, method };
      await kept.store.commit([{ kind: "put", collection: "chain-heads", key, value: earlier }]);
    }
    expect(await damagesOf(kept)).toEqual([]);
    const [head] = await kept.store.list("chain-heads");
    expect(head?.value).toMatchObject({ segment: 1, offset: expect.any(Number) });
    cutLines(kept.segment(1), 1);
    expect(await damagesOf(kept)).toEqual([lost(kept.records[2])]);
  });

  it("misses an end in which no chain is known to have ended", async () => {
    const kept = await keep([ALICE, BOB]);
    for (const key of [ALICE, BOB]) {
      await kept.store.commit([{ kind: "delete", collection: "chain-heads", key }]);
    }
    rmSync(join(kept.directory, "journal/synced.json"));
    cutLines(kept.segment(1), 1);
    expect(await damagesOf(kept)).toMatchObject([{ kind: "lost-tail", file: "00000001.jws" }]);
  });

  it("cuts half a record off that nobody was told of, and says so", async () => {
    const { directory, store, segment } = await keep([ALICE], { isClosed: false });
    appendFileSync(segment(1), "eyJhbGciOi");
    const { notices, close } = await openTestState(directory, store);
    expect(notices).toMatchObject([
      { event: "journal-tail-cut", level: "warn", fields: { file: "00000001.jws", octets: 10 } },
    ]);
    await close();
  });

  it("takes no whole line for a record that is none", async () => {
    const kept = await keep([ALICE], { isClosed: false });
    const offset = readFileSync(kept.segment(1)).length;
    appendFileSync(kept.segment(1), "not a record\n");
    expect(await damagesOf(kept)).toEqual([
      { kind: "no-record", file: "00000001.jws", offset, length: 12 },
    ]);
  });

  it("names a record that another one names, and that was taken out after a crash", async () => {
    const kept = await keep([ALICE, ALICE, BOB, ALICE], { isClosed: false });
    const rest = kept.records.filter((_, index) => index !== 1);
    writeFileSync(kept.segment(1), rest.map(({ jws }) => `${jws}\n`).join(""));
    expect(await damagesOf(kept)).toEqual([lost(kept.records[1])]);
  });
});

// A process that was killed made no checkpoint of what it wrote last.
describe("a start over the journal of a process that was killed", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  /** The journal of a process whose records have all been synced. */
  async function keepSynced(agents: readonly string[], options = {}): Promise<Kept> {
    const kept = await keep(agents, { ...options, isClosed: false });
    const newest = kept.records.at(-1)?.auditId;
    const journal = join(kept.directory, "journal");
    // A disk that others use takes its time.
    const isNoted = (): void => expect(readSyncedMark(journal)?.auditId).toBe(newest);
    await vi.waitFor(isNoted, PATIENCE);
    return kept;
  }

  it("names the record that was synced last, where it was taken from the end", async () => {
    const kept = await keepSynced([ALICE, BOB, ALICE]);
    cutLines(kept.segment(1), 1);
    for (let start = 1; start <= 2; start += 1) {
      expect(await damagesOf(kept)).toEqual([lost(kept.records[2])]);
    }
  });

  it("misses nothing that was not synced, and nothing where somebody took the mark away", async () => {
    const kept = await keepSynced([ALICE, BOB]);
    appendFileSync(kept.segment(1), "eyJhbGciOi");
    expect(await damagesOf(kept)).toEqual([]);
    const other = await keepSynced([ALICE, BOB]);
    rmSync(join(other.directory, "journal/synced.json"));
    cutLines(other.segment(1), 1);
    expect(await damagesOf(other)).toEqual([]);
  });

  it.each(["", "{", "[]", '{"segment":1}', "x".repeat(10_000)])(
    "takes a mark that cannot be read for none: %j",
    async (text) => {
      const kept = await keepSynced([ALICE]);
      writeFileSync(join(kept.directory, "journal/synced.json"), text);
      expect(await damagesOf(kept)).toEqual([]);
    },
  );

  it("lets a segment go that is taken away while it looks, beside a daemon that does", async () => {
    const kept = await keep([ALICE, BOB], { segmentBytes: 100 });
    const { checkpoint, heads } = await readKnownChains(kept.store);
    const [first] = listSegments(join(kept.directory, "journal"));
    const looked = [...heads].map(([agentId, head]) => {
      const { auditId, at, method, place } = head;
      const goesFirst = place?.segment === first;
      const late: ChainHead = {
        ...{ auditId, at, method },
        get place() {
          if (goesFirst) rmSync(kept.segment(first ?? 0), { force: true });
          return place;
        },
      };
      return [agentId, late] as const;
    });
    const known = { checkpoint, heads: new Map(looked) };
    expect(findLosses(join(kept.directory, "journal"), known)).toEqual([]);
  });

  it("lets the oldest segments go, that of the mark among them", async () => {
    const kept = await keepSynced([ALICE]);
    renameSync(kept.segment(1), kept.segment(2));
    expect(await damagesOf(kept)).toEqual([]);
  });
});
