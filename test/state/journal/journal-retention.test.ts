/** What retention takes away is signed for first: what is left starts, goes on, and verifies. */
import { hash } from "node:crypto";
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { readLastCut } from "../../../src/state/journal/cut-file.ts";
import {
  type JournalReport,
  verifyJournalChain,
} from "../../../src/state/journal/journal-chain.ts";
import { DISK } from "../../../src/state/journal/journal-disk.ts";
import { type CutStep, moveSegments, writeCut } from "../../../src/state/journal/make-cut.ts";
import type { RetentionLimits } from "../../../src/state/journal/retention.ts";
import { listSegments, segmentName } from "../../../src/state/journal/segment.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import { importState } from "../../../src/state/moving/import-state.ts";
import type { StateNotice } from "../../../src/state/notice.ts";
import { readKnownChains } from "../../../src/state/records/known-chains.ts";
import { Attributor, type Ledger } from "../../../src/state/records/ledger.ts";
import { createRecordSigner, createSealer } from "../../../src/state/records/sealer.ts";
import { openState, type ServerState } from "../../../src/state/state.ts";
import type { Store } from "../../../src/state/store.ts";
import { makeKeyPair } from "../../support/attribution-chain.ts";
import { makeDirectory } from "../../support/directory.ts";
import { PATIENCE } from "../../support/patience.ts";
import { makeFacts } from "../../support/state.ts";
import { alterStore } from "../../support/store.ts";

const [ALICE, BOB] = ["a".repeat(64), "b".repeat(64)];
const DAY = 86_400_000;
const { privateKey, publicKey } = makeKeyPair();
const signer = createRecordSigner(privateKey);
const serverId = "agents.example";

/** A deployment's journal, opened as often as a test likes. */
class House {
  readonly root = makeDirectory();
  readonly journal = join(this.root, "journal");
  readonly archive = join(this.root, "archive");
  readonly notices: StateNotice[] = [];
  store: Store = createMemoryStore();
  now = Date.UTC(2026, 0, 1);

  async open(onCutStep?: (step: CutStep) => void): Promise<ServerState> {
    const state = await openState({
      ...(onCutStep && { onCutStep }),
      ...{ store: this.#lasting(), journalDirectory: this.journal, segmentBytes: 4000 },
      onFault: (error) => {
        throw error;
      },
      onNotice: (notice) => void this.notices.push(notice),
      now: () => this.now,
    });
    onTestFinished(() => state.retention?.close());
    return state;
  }

  /** The store outlives whoever opened it. */
  #lasting(): Store {
    const { store } = this;
    const collections = async (): Promise<readonly string[]> => (await store.collections?.()) ?? [];
    return alterStore(store, { collections, close: () => Promise.resolve() });
  }

  /** So many records of both agents in turn, a minute apart. */
  async grow(state: ServerState, count: number): Promise<void> {
    const { ledger } = state;
    const attributor = new Attributor({ serverId, sealer: createSealer(signer), ledger });
    for (let more = 0; more < count; more += 1) {
      this.now += 60_000;
      attributor.chained(makeFacts(more % 3 === 0 ? BOB : ALICE));
      await ledger.settled();
    }
    await this.takenIn();
  }

  /** A checkpoint is made behind each finished segment, and nobody waits for it. */
  async takenIn(): Promise<void> {
    await vi.waitFor(async () => {
      const { checkpoint } = await readKnownChains(this.store);
      expect(checkpoint?.segment).toBe(listSegments(this.journal).at(-1));
    }, PATIENCE);
  }

  async retain(state: ServerState, limits: RetentionLimits): Promise<void> {
    state.retention?.apply({ limits, signer, serverId });
    await state.retention?.run();
  }

  verify(agentId: string, archive?: string): Promise<JournalReport | undefined> {
    return verifyJournalChain({ directory: this.journal, archive, agentId, keys: [publicKey] });
  }

  names(): readonly string[] {
    return readdirSync(this.journal).sort();
  }
}

async function grown(
  count: number,
  onCutStep?: (step: CutStep) => void,
): Promise<{ house: House; state: ServerState }> {
  const house = new House();
  const state = await house.open(onCutStep);
  await house.grow(state, count);
  return { house, state };
}

const sizeOf = (house: House): number =>
  listSegments(house.journal)
    .map((number) => statSync(join(house.journal, segmentName(number))).size)
    .reduce((sum, size) => sum + size, 0);

// AGTP-IDENTIFIERS "Audit Log"
describe("JournalRetention", () => {
  it("moves the oldest segments to the archive until what is left is small enough", async () => {
    const { house, state } = await grown(40);
    const before = listSegments(house.journal);
    await house.retain(state, { bytes: 12_000, archive: house.archive });
    const left = listSegments(house.journal);
    expect(sizeOf(house)).toBeLessThanOrEqual(12_000);
    expect(left.length).toBeLessThan(before.length);
    expect([...listSegments(house.archive), ...left]).toEqual(before);
    expect(house.notices.map(({ event }) => event)).toEqual(["journal-cut"]);
    const size = await state.retention?.size();
    expect(size).toMatchObject({ segments: left.length, bytes: sizeOf(house) });
    await state.close();
  });

  it("leaves a journal that verifies from the cut, and from its beginning with the archive", async () => {
    const { house, state } = await grown(40);
    const whole = await house.verify(ALICE);
    await house.retain(state, { bytes: 12_000, archive: house.archive });
    await house.grow(state, 5);
    for (const agent of [ALICE, BOB]) {
      const [left, all] = [await house.verify(agent), await house.verify(agent, house.archive)];
      expect(left).toMatchObject({ broken: undefined, cut: { isArchived: true } });
      expect(all).toMatchObject({ broken: undefined, cut: undefined });
      expect(all?.records).toBe((left?.records ?? 0) + (left?.cut?.records ?? 0));
    }
    const through = listSegments(house.archive).at(-1) ?? 0;
    expect((await house.verify(ALICE))?.cut?.through).toBe(segmentName(through));
    expect((await house.verify(ALICE, house.archive))?.first).toEqual(whole?.first);
    await state.close();
  });

  it("takes away what is too old, of an idle server too, and never what is open", async () => {
    const { house, state } = await grown(40);
    await house.retain(state, { days: 2 });
    expect(house.notices).toEqual([]);
    house.now += 3 * DAY;
    await house.retain(state, { days: 2 });
    await house.takenIn();
    await house.retain(state, { days: 2 });
    const [open, ...others] = listSegments(house.journal);
    expect(others).toEqual([]);
    expect(statSync(join(house.journal, segmentName(open ?? 0))).size).toBe(0);
    expect(await house.verify(ALICE)).toMatchObject({ records: 0, broken: undefined });
    await house.grow(state, 3);
    expect(await house.verify(ALICE)).toMatchObject({ records: 2, broken: undefined });
    await state.close();
  });

  it("takes nothing away while an export reads it, nor what the store has not taken in", async () => {
    const { house, state } = await grown(40);
    const before = listSegments(house.journal);
    const lines = state.exported(serverId)[Symbol.asyncIterator]();
    await lines.next();
    await house.retain(state, { bytes: 12_000 });
    expect(listSegments(house.journal)).toEqual(before);
    await lines.return?.();
    await house.retain(state, { bytes: 12_000 });
    expect(listSegments(house.journal).length).toBeLessThan(before.length);
    await state.close();
  });

  it("lets an export wait for one segment at most, and goes on behind it", async () => {
    let lines: AsyncIterator<string> | undefined;
    let first: Promise<unknown> | undefined;
    const { house, state } = await grown(40, (step) => {
      if (step !== "segment-moved" || lines !== undefined) return;
      lines = state.exported(serverId)[Symbol.asyncIterator]();
      first = lines.next();
    });
    const before = listSegments(house.journal);
    await house.retain(state, { bytes: 12_000 });
    await first;
    const meanwhile = listSegments(house.journal);
    expect(before.length - meanwhile.length).toBeLessThanOrEqual(2);
    await state.retention?.run();
    expect(listSegments(house.journal)).toEqual(meanwhile);
    expect(house.notices).toEqual([]);
    await lines?.return?.();
    await state.retention?.run();
    expect(sizeOf(house)).toBeLessThanOrEqual(12_000);
    expect(house.notices.map(({ event }) => event)).toEqual(["journal-cut"]);
    expect(await house.verify(ALICE)).toMatchObject({ broken: undefined });
    await state.close();
  });

  it.each<CutStep>(["heads-written", "cut-written", "segment-moved"])(
    "is exported whole where the export begins while it is cut: %s",
    async (begin) => {
      let exporting: Promise<readonly string[]> | undefined;
      const { house, state } = await grown(40, (step) => {
        if (step === begin) exporting ??= linesOf(state);
      });
      const whole = await house.verify(ALICE);
      await house.retain(state, { bytes: 12_000 });
      const imported = await verifyIn(await importLines((await exporting) ?? []), ALICE);
      expect(imported).toMatchObject({ broken: undefined, head: whole?.head });
      expect((imported?.records ?? 0) + (imported?.cut?.records ?? 0)).toBe(whole?.records);
      await state.retention?.run();
      expect(sizeOf(house)).toBeLessThanOrEqual(12_000);
      expect(house.notices.map(({ event }) => event)).toEqual(["journal-cut"]);
      await state.close();
    },
  );

  it.each<CutStep>(["heads-written", "heads-synced", "cut-written", "cut-synced", "segment-moved"])(
    "finishes a cut of its own that failed behind a step, as where a disk does not sync: %s",
    async (last) => {
      let isFailing = true;
      const { house, state } = await grown(40, (step) => {
        if (step !== last || !isFailing) return;
        isFailing = false;
        throw new Error("it cannot be synced");
      });
      const whole = await house.verify(ALICE);
      await house.retain(state, { bytes: 12_000 });
      await state.retention?.run();
      expect(house.notices.map(({ event }) => event)).toEqual([
        "journal-retention-failed",
        "journal-cut",
      ]);
      expect(sizeOf(house)).toBeLessThanOrEqual(12_000);
      const left = await house.verify(ALICE);
      expect(left).toMatchObject({ broken: undefined, head: whole?.head });
      expect((left?.records ?? 0) + (left?.cut?.records ?? 0)).toBe(whole?.records);
      await state.close();
      house.store = createMemoryStore();
      const next = await house.open();
      expect(next.ledger.headOf(ALICE)?.auditId).toBe(whole?.head);
      await next.close();
    },
  );

  it("keeps what was signed as archived, and its checkpoint, when the archive has left the configuration", async () => {
    const { house, state } = await grown(40);
    const other = join(makeArchive(house), segmentName(1));
    writeFileSync(other, "another\n");
    await house.retain(state, { bytes: 12_000, archive: house.archive });
    const before = listSegments(house.journal);
    await house.retain(state, { bytes: 12_000 });
    expect(listSegments(house.journal)).toEqual(before);
    expect(house.notices.map(({ fields }) => fields["reason"])).toEqual([
      "the archive has another 00000001.jws already, which is not written over",
      "00000001.jws was signed as archived, and no archive is configured: nothing goes before it is there",
    ]);
    rmSync(other);
    await house.retain(state, { bytes: 12_000, archive: house.archive });
    expect(sizeOf(house)).toBeLessThanOrEqual(12_000);
    for (const agent of [ALICE, BOB]) {
      expect(await house.verify(agent)).toMatchObject({ broken: undefined });
      expect(await house.verify(agent, house.archive)).toMatchObject({ broken: undefined });
    }
    await state.close();
  });

  it("says where a record went, and nothing of one that nobody knows", async () => {
    const { house, state } = await grown(40);
    const first = (await house.verify(ALICE))?.first?.auditId ?? "";
    await house.retain(state, { bytes: 12_000, archive: house.archive });
    const segment = segmentName(1);
    expect(await state.ledger.find(first)).toBeUndefined();
    expect(await state.ledger.whereCut(first)).toMatchObject({ isArchived: true, segment });
    expect(await state.ledger.whereCut("c".repeat(64))).toBeUndefined();
    await state.close();
  });

  it("says so while the segment is on its way", async () => {
    const asked: ReturnType<Ledger["whereCut"]>[] = [];
    let first = "";
    const { house, state } = await grown(40, (step) => {
      if (/moved|synced/.test(step) && step !== "heads-synced" && step !== "cut-synced") {
        asked.push(state.ledger.whereCut(first));
      }
    });
    first = (await house.verify(ALICE))?.first?.auditId ?? "";
    await house.retain(state, { bytes: 12_000, archive: house.archive });
    const segments = (await Promise.all(asked)).map((where) => where?.segment);
    expect(segments.length).toBeGreaterThan(4);
    expect(new Set(segments)).toEqual(new Set([segmentName(1)]));
    await state.close();
  });

  it("knows the records at which deleted segments ended", async () => {
    const { house, state } = await grown(40);
    await house.retain(state, { bytes: 12_000 });
    const end = (await house.verify(ALICE))?.cut?.auditId ?? "";
    expect(await state.ledger.whereCut(end)).toMatchObject({ isArchived: false });
    await state.close();
  });

  it("does not write over another segment in the archive", async () => {
    const { house, state } = await grown(40);
    writeFileSync(join(makeArchive(house), segmentName(1)), "another\n");
    await house.retain(state, { bytes: 12_000, archive: house.archive });
    await state.retention?.run();
    const failed = house.notices.filter(({ event }) => event === "journal-retention-failed");
    expect(failed.map(({ fields }) => fields["reason"])).toEqual([
      "the archive has another 00000001.jws already, which is not written over",
    ]);
    expect(await house.verify(ALICE)).toMatchObject({ broken: undefined });
    await state.close();
  });
});

async function linesOf(state: ServerState): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const line of state.exported(serverId)) lines.push(line);
  return lines;
}

/** The lines of an export that says it begins with another segment, and adds up. */
function beginningAt(lines: readonly string[], segment: number): readonly string[] {
  const header = { ...JSON.parse(lines[0] ?? ""), first_segment: segment };
  const others = [`${JSON.stringify(header)}\n`, ...lines.slice(1, -1)];
  const { end } = JSON.parse(lines.at(-1) ?? "");
  const sha256 = hash("sha256", others.join(""));
  return [...others, `${JSON.stringify({ end: { ...end, sha256 } })}\n`];
}

/** Imports an export; answers the directory of its journal. */
async function importLines(lines: readonly string[]): Promise<string> {
  const directory = join(makeDirectory(), "journal");
  const octets = (async function* () {
    yield Buffer.from(lines.join(""));
  })();
  await importState(octets, { store: createMemoryStore(), directory, onHeader: () => undefined });
  return directory;
}

function verifyIn(directory: string, agentId: string): Promise<JournalReport | undefined> {
  return verifyJournalChain({ directory, agentId, keys: [publicKey] });
}

function makeArchive(house: House): string {
  mkdirSync(house.archive);
  return house.archive;
}

describe("a journal that was cut", () => {
  it("goes on from the checkpoint when the store was lost", async () => {
    const { house, state } = await grown(40);
    const heads = [ALICE, BOB].map((agent) => state.ledger.headOf(agent)?.auditId);
    await house.retain(state, { bytes: 5_000 });
    await state.close();
    house.store = createMemoryStore();
    const next = await house.open();
    expect([ALICE, BOB].map((agent) => next.ledger.headOf(agent)?.auditId)).toEqual(heads);
    await house.grow(next, 6);
    expect(await house.verify(ALICE)).toMatchObject({ broken: undefined });
    expect(await house.verify(BOB)).toMatchObject({ broken: undefined });
    await next.close();
  });

  it.each<CutStep>(["cut-written", "segment-moved"])(
    "goes on from the checkpoint when the store was lost and a killed process had got to %s",
    async (last) => {
      let isKilled = false;
      const { house, state } = await grown(40, (step) => {
        isKilled ||= step === last;
        if (isKilled) throw new Error("it is killed");
      });
      const heads = [ALICE, BOB].map((agent) => state.ledger.headOf(agent)?.auditId);
      await house.retain(state, { bytes: 1 });
      await state.close();
      house.store = createMemoryStore();
      const next = await house.open();
      expect([ALICE, BOB].map((agent) => next.ledger.headOf(agent)?.auditId)).toEqual(heads);
      await house.retain(next, { bytes: 1 });
      expect(await house.verify(ALICE)).toMatchObject({ broken: undefined });
      await next.close();
    },
  );

  it("remembers who was suspended when the store was lost", async () => {
    const { house, state } = await grown(3);
    const { ledger } = state;
    const attributor = new Attributor({ serverId, sealer: createSealer(signer), ledger });
    const extension = {
      ...{ event_type: "agent_suspended", previous_status: "active", new_status: "suspended" },
    };
    const draft = attributor.chained(makeFacts(ALICE, { extension }));
    await ledger.settled();
    await state.lifecycle.append(draft);
    await house.grow(state, 30);
    await house.retain(state, { bytes: 5_000 });
    expect(await ledger.find(draft.auditId)).toBeUndefined();
    await state.close();
    house.store = createMemoryStore();
    const next = await house.open();
    const events = await next.lifecycle.events(ALICE, 10);
    expect(events.map(({ auditId }) => auditId)).toEqual([draft.auditId]);
    await next.close();
  });

  it("is exported and imported with its checkpoint", async () => {
    const { house, state } = await grown(40);
    await house.retain(state, { bytes: 12_000 });
    const lines = await linesOf(state);
    await state.close();
    const imported = await verifyIn(await importLines(lines), ALICE);
    expect(imported).toMatchObject({ broken: undefined });
    expect(imported).toEqual(await house.verify(ALICE));
  });

  it("is not imported where it would begin before its checkpoint", async () => {
    const { house, state } = await grown(40);
    await house.retain(state, { bytes: 12_000 });
    const lines = await linesOf(state);
    await state.close();
    const first = Number(JSON.parse(lines[0] ?? "")["first_segment"]);
    for (const wrong of [1, first - 1]) {
      const error = await importLines(beginningAt(lines, wrong)).catch((fault: unknown) => fault);
      expect(String(error)).toContain(`has a checkpoint through ${segmentName(first - 1)}, behind`);
    }
  });

  it.each<[string, string, (house: House) => void]>([
    [
      "a segment that went without a checkpoint",
      "missing-segment",
      ({ journal }) => rmSync(join(journal, segmentName(listSegments(journal)[0] ?? 0))),
    ],
    [
      "a checkpoint that was altered",
      "bad-checkpoint",
      ({ journal }) => alter(join(journal, "cuts.jws"), (text) => text.replace(/\.(.)/, ".x$1")),
    ],
    [
      "a checkpoint that nobody signed",
      "bad-checkpoint",
      ({ journal }) =>
        alter(join(journal, "cuts.jws"), (text) => {
          const payload = JSON.parse(Buffer.from(text.split(".")[1] ?? "", "base64url").toString());
          return `${createRecordSigner().sign(JSON.stringify(payload))}\n`;
        }),
    ],
    [
      "other ends of chains",
      "bad-checkpoint",
      (house) => {
        const name = house.names().find((one) => one.endsWith(".heads")) ?? "";
        alter(join(house.journal, name), (text) => text.replace('"sequence":', '"sequence":1'));
      },
    ],
    [
      "no checkpoint any more",
      "missing-record",
      ({ journal }) => rmSync(join(journal, "cuts.jws")),
    ],
  ])("does not verify with %s", async (_, kind, change) => {
    const { house, state } = await grown(40);
    await house.retain(state, { bytes: 12_000 });
    await state.close();
    expect((await house.verify(ALICE))?.broken).toBeUndefined();
    change(house);
    expect((await house.verify(ALICE))?.broken?.kind).toBe(kind);
  });

  it("does not verify with another segment in the archive", async () => {
    const { house, state } = await grown(40);
    await house.retain(state, { bytes: 12_000, archive: house.archive });
    await state.close();
    const path = join(house.archive, segmentName(1));
    // Of the other agent, so that this chain itself still holds.
    const lines = readFileSync(path, "latin1").split("\n");
    const isOf = (line: string): boolean =>
      Buffer.from(line.split(".")[1] ?? "", "base64url")
        .toString()
        .includes(BOB);
    writeFileSync(path, lines.filter((line) => !isOf(line)).join("\n"));
    const report = await house.verify(ALICE, house.archive);
    expect(report?.broken?.kind).toBe("altered-archive");
  });

  it.each([
    ["a segment less in the archive", (archive: string) => rmSync(join(archive, segmentName(1)))],
    ["another directory for an archive", (archive: string) => renameSync(archive, `${archive}-1`)],
  ])("does not verify with %s", async (_, change) => {
    const { house, state } = await grown(40);
    await house.retain(state, { bytes: 12_000, archive: house.archive });
    await state.close();
    change(house.archive);
    mkdirSync(house.archive, { recursive: true });
    expect((await house.verify(ALICE))?.broken).toBeUndefined();
    expect((await house.verify(ALICE, house.archive))?.broken).toMatchObject({
      kind: "missing-segment",
      message: expect.stringContaining("00000001.jws is not in the archive"),
    });
  });

  it("verifies what is left where no segment was ever moved to an archive", async () => {
    const { house, state } = await grown(40);
    await house.retain(state, { bytes: 12_000 });
    await state.close();
    expect((await house.verify(ALICE, makeArchive(house)))?.broken).toBeUndefined();
  });

  it("does not vouch for what was missing before the cut", async () => {
    const { house, state } = await grown(40);
    await state.close();
    rmSync(join(house.journal, segmentName(1)));
    const next = await house.open();
    await house.retain(next, { bytes: 12_000 });
    expect((await house.verify(ALICE))?.broken?.kind).toBe("missing-record");
    await next.close();
  });
});

function alter(path: string, change: (text: string) => string): void {
  writeFileSync(path, change(readFileSync(path, "latin1")));
}

class Killed extends Error {}

const STEPS: readonly CutStep[] = [
  ...(["heads-written", "heads-synced", "cut-written", "cut-synced"] as const),
  ...(["segment-moved", "index-moved", "archive-synced", "journal-synced"] as const),
];

describe("a cut that a killed process left", () => {
  it.each(STEPS.flatMap((step) => [1, 2].map((at) => [step, at] as const)))(
    "is whole or finished later, killed behind %s number %i",
    async (step, at) => {
      const { house, state } = await grown(40);
      await state.close();
      const records = (await house.verify(ALICE))?.records ?? 0;
      makeArchive(house);
      let seen = 0;
      const place = {
        ...{ directory: house.journal, archive: house.archive, disk: DISK },
        onStep: (done: CutStep) => {
          if (done === step) seen += 1;
          if (seen === at) throw new Killed();
        },
      };
      const author = { signer, serverId, now: house.now };
      const cutTwice = async (): Promise<void> => {
        for (let round = 0; round < 2; round += 1) {
          const numbers = listSegments(house.journal).slice(0, 3);
          await moveSegments(place, await writeCut(place, numbers, author));
        }
      };
      await expect(cutTwice()).rejects.toThrow(Killed);
      // A crash may leave half a line as well.
      if (step === "heads-synced") appendFileSync(join(house.journal, "cuts.jws"), "eyJhbGciOi");
      expect(await house.verify(ALICE)).toMatchObject({ broken: undefined });
      const all = await house.verify(ALICE, house.archive);
      expect(all).toMatchObject({ records, broken: undefined });
      const next = await house.open();
      await house.retain(next, { bytes: 6_000, archive: house.archive });
      await house.grow(next, 3);
      const cut = await readLastCut(house.journal);
      expect(listSegments(house.journal)[0]).toBe((cut?.through ?? 0) + 1);
      expect(house.names().filter((name) => /heads/.test(name))).toEqual([cut?.heads.file]);
      expect(await house.verify(ALICE)).toMatchObject({ broken: undefined });
      expect(await house.verify(ALICE, house.archive)).toMatchObject({
        ...{ records: records + 2, broken: undefined, cut: undefined },
      });
      expect(house.notices.filter(({ level }) => level === "error")).toEqual([]);
      await next.close();
    },
  );
});
