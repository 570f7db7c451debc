/** A repair that ends in the middle, as a killed one does: the next one finishes it, and says what is so. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { verifyJournalChain } from "../../../src/state/journal/journal-chain.ts";
import { repairJournal } from "../../../src/state/journal/repair-journal.ts";
import { listSegments, segmentName } from "../../../src/state/journal/segment.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import { Attributor } from "../../../src/state/records/ledger.ts";
import { createRecordSigner, createSealer } from "../../../src/state/records/sealer.ts";
import { openState } from "../../../src/state/state.ts";
import type { Store } from "../../../src/state/store.ts";
import { makeKeyPair } from "../../support/attribution-chain.ts";
import { makeDirectory } from "../../support/directory.ts";
import { readJournal } from "../../support/records.ts";
import { makeFacts } from "../../support/state.ts";
import { alterStore } from "../../support/store.ts";

const [ALICE, BOB] = ["a".repeat(64), "b".repeat(64)];
const { privateKey, publicKey } = makeKeyPair();
const signer = createRecordSigner(privateKey);
const serverId = "agents.example";
const STRAY = "not a record";

const lasting = (store: Store): Store => alterStore(store, { close: () => Promise.resolve() });

/** A journal that has lost the only record of Bob, which stood between those of Alice. */
async function damaged() {
  const [store, directory] = [createMemoryStore(), join(makeDirectory(), "journal")];
  const onFault = (error: unknown): never => {
    throw error;
  };
  const state = await openState({ store: lasting(store), journalDirectory: directory, onFault });
  const { ledger } = state;
  const attributor = new Attributor({ serverId, sealer: createSealer(signer), ledger });
  for (const agent of [ALICE, BOB, ALICE, ALICE]) attributor.chained(makeFacts(agent));
  await ledger.settled();
  await state.close();
  const lost = state.ledger.headOf(BOB)?.auditId;
  const path = join(directory, segmentName(1));
  const lines = readFileSync(path, "latin1").split("\n");
  const stray = lines.map((line, index) => (index === 1 ? STRAY.padEnd(line.length) : line));
  writeFileSync(path, stray.join("\n"));
  return { store, directory, lost };
}

// AGTP-IDENTIFIERS "Audit Log"
describe("a repair that ends", () => {
  it.each<[string, (store: Store) => Partial<Parameters<typeof repairJournal>[0]>]>([
    [
      "before its record is written",
      () => ({
        signer: {
          ...signer,
          sign: () => {
            throw new Error("it was killed");
          },
        },
      }),
    ],
    [
      "before the store knows of it",
      (store) => ({
        store: alterStore(store, { commit: () => Promise.reject(new Error("it was killed")) }),
      }),
    ],
  ])("%s, leaves nothing that the next one says wrong", async (_, failing) => {
    const { store, directory, lost } = await damaged();
    const options = { store, directory, signer, serverId, reason: undefined, now: 1_000 };
    await expect(repairJournal({ ...options, ...failing(store) })).rejects.toThrow("killed");
    await repairJournal({ ...options, now: 2_000 });
    const records = readJournal(directory);
    const repairs = records.filter(({ payload }) => payload["event_type"] === "chain-repaired");
    const said = new Set(repairs.flatMap(({ payload }) => payload["lost_records"]));
    expect(said).toEqual(new Set([lost]));
    const named = repairs.flatMap(({ payload }) => payload["set_aside"]);
    expect(readFileSync(join(directory, String(named[0])), "latin1")).toContain(STRAY);
    expect(readFileSync(join(directory, segmentName(1)), "latin1")).not.toContain(STRAY);

    const faults: unknown[] = [];
    const onFault = (error: unknown): void => void faults.push(error);
    const next = await openState({ store, journalDirectory: directory, onFault });
    expect(next.ledger.headOf(BOB)?.auditId).toBe(records.at(-1)?.auditId);
    await next.close();
    const report = await verifyJournalChain({ directory, agentId: ALICE, keys: [publicKey] });
    expect(report).toMatchObject({ broken: undefined, records: 3 });
    expect(faults).toEqual([]);
  });
});

describe("a repair behind a cut", () => {
  it("goes on behind the record that a chain ended with at the cut, where nothing later is left", async () => {
    const [store, directory] = [createMemoryStore(), join(makeDirectory(), "journal")];
    const onFault = (error: unknown): never => {
      throw error;
    };
    const open = () =>
      openState({
        ...{ store: lasting(store), journalDirectory: directory, segmentBytes: 1_000, onFault },
      });
    const grow = async (count: number): Promise<void> => {
      const state = await open();
      const { ledger, retention } = state;
      const attributor = new Attributor({ serverId, sealer: createSealer(signer), ledger });
      for (let more = 0; more < count; more += 1) {
        attributor.chained(makeFacts(ALICE));
        await ledger.settled();
      }
      await state.close();
      const next = await open();
      next.retention?.apply({ limits: { bytes: 1 }, signer, serverId });
      await next.retention?.run();
      await next.close();
      expect(retention).toBeDefined();
    };
    await grow(5);
    const verify = () => verifyJournalChain({ directory, agentId: ALICE, keys: [publicKey] });
    const end = (await verify())?.cut?.auditId;
    const last = listSegments(directory).at(-1) ?? 0;
    writeFileSync(join(directory, segmentName(last)), "");
    const options = { store, directory, signer, serverId, reason: undefined, now: Date.now() };
    const { chains } = await repairJournal(options);
    expect(chains).toMatchObject([{ agentId: ALICE, follows: end }]);
    expect(await verify()).toMatchObject({ broken: undefined, records: 1 });
    await grow(4);
    const report = await verify();
    expect(report).toMatchObject({ broken: undefined });
    expect((report?.records ?? 0) + (report?.cut?.records ?? 0)).toBe(9);
  });
});
