/** Batches of several workers, decided by their parent: one path a chain, and nothing kept twice. */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { JournalRecord } from "../../../src/state/journal/journal.ts";
import { NO_AUDIT_ID } from "../../../src/state/records/record.ts";
import type {
  ChainedRecord,
  RecordBatch,
  RecordStore,
} from "../../../src/state/records/record-store.ts";
import {
  decodeBatch,
  encodeBatch,
  type SealedBatch,
} from "../../../src/state/sharing/sealed-batch.ts";
import { SealedChains } from "../../../src/state/sharing/sealed-chains.ts";
import { arrived } from "../../support/cargo.ts";

interface Kept extends RecordStore {
  readonly records: JournalRecord[];
  readonly writes: number[];
  fault: Error | undefined;
}

function makeStore(): Kept {
  const store: Kept = {
    ...{ isImmediate: true, records: [], writes: [], fault: undefined },
    append({ packed = [] }) {
      if (store.fault !== undefined) throw store.fault;
      const records = packed.flatMap((some) => some.all());
      store.records.push(...records);
      store.writes.push(records.length);
      return { first: { segment: 1, offset: 0 } };
    },
    probe: () => undefined,
    find: () => Promise.resolve(undefined),
    close: () => Promise.resolve(),
  };
  return store;
}

/** An Audit-ID that is told by its end. */
function idOf(name: string): string {
  return name.padStart(64, "f");
}

function record(agentId: string, name: string, isEvent = false): ChainedRecord {
  const chain = { agentId, at: 1, method: "QUERY", ...(isEvent && { isEvent: true as const }) };
  return { auditId: idOf(name), jws: `jws of ${name}`, chain };
}

/** A batch as it arrives. */
function sealed(batch: RecordBatch): SealedBatch {
  const { message, cargo } = encodeBatch(batch);
  return decodeBatch(message, arrived(cargo));
}

function batch(agentId: string, before: string, ...names: readonly string[]): SealedBatch {
  return sealed({
    records: names.map((name) => record(agentId, name)),
    expected: new Map([[agentId, idOf(before)]]),
  });
}

it("keeps the first of two that follow the same record, and tells the other the head", async () => {
  const store = makeStore();
  const chains = new SealedChains(store, new Map());
  const both = [
    chains.append(batch("a", NO_AUDIT_ID, "1", "2")),
    chains.append(batch("a", NO_AUDIT_ID, "e")),
  ];
  const [won, lost] = await Promise.all(both);
  expect(won).toEqual([]);
  expect(lost).toEqual([["a", expect.objectContaining({ auditId: idOf("2") })]]);
  expect(store.records.map(({ auditId }) => auditId)).toEqual(["1", "2"].map(idOf));
  expect(await chains.append(batch("a", "2", "e"))).toEqual([]);
});

it("writes the octets that came, and none of a chain that has moved", async () => {
  const written: (readonly Buffer[])[] = [];
  const store = makeStore();
  const noting: RecordStore = {
    ...store,
    append: (appended) => {
      written.push(appended.packed?.map(({ lines }) => lines) ?? []);
      return store.append(appended);
    },
  };
  const chains = new SealedChains(noting, new Map());
  const [a, b] = [batch("a", NO_AUDIT_ID, "1", "2"), batch("b", NO_AUDIT_ID, "3")];
  await Promise.all([chains.append(a), chains.append(b)]);
  expect(written).toEqual([[a.records.lines, b.records.lines]]);
  const late = sealed({
    records: [record("a", "e"), record("b", "4"), record("a", "d")],
    expected: new Map([
      ["a", idOf("1")],
      ["b", idOf("3")],
    ]),
  });
  expect(await chains.append(late)).toEqual([
    ["a", { auditId: idOf("2"), at: 1, method: "QUERY", place: expect.anything() }],
  ]);
  await chains.append(batch("a", "2", "5"));
  expect(store.records.map(({ auditId }) => auditId)).toEqual(["1", "2", "3", "4", "5"].map(idOf));
  const texts = written.flat().map((lines) => lines.toString());
  expect(texts.join("")).toBe("jws of 1\njws of 2\njws of 3\njws of 4\njws of 5\n");
});

it("knows where each chain ends in the journal", async () => {
  const chains = new SealedChains(makeStore(), new Map());
  await Promise.all([
    chains.append(batch("a", NO_AUDIT_ID, "1", "2")),
    chains.append(batch("b", NO_AUDIT_ID, "3")),
  ]);
  const placeOf = (agentId: string) => chains.heads.get(agentId)?.place;
  expect(placeOf("a")).toEqual({ segment: 1, offset: 9, length: 8 });
  expect(placeOf("b")).toEqual({ segment: 1, offset: 18, length: 8 });
});

it("writes what arrives in one turn at once", async () => {
  const store = makeStore();
  const chains = new SealedChains(store, new Map());
  const agents = ["a", "b", "c"];
  await Promise.all(
    agents.map((agent, index) => chains.append(batch(agent, NO_AUDIT_ID, `${index}`))),
  );
  expect(store.writes).toEqual([3]);
});

it("moves no head where the journal cannot be written", async () => {
  const store = makeStore();
  const chains = new SealedChains(store, new Map());
  store.fault = new Error("full");
  const both = [
    chains.append(batch("a", NO_AUDIT_ID, "1")),
    chains.append(batch("b", NO_AUDIT_ID, "2")),
  ];
  for (const one of both) await expect(one).rejects.toThrow("full");
  expect(chains.heads.all.size).toBe(0);
  store.fault = undefined;
  expect(await chains.append(batch("a", NO_AUDIT_ID, "1"))).toEqual([]);
});

it("remembers events until they are stored", async () => {
  const chains = new SealedChains(makeStore(), new Map());
  const records = [record("a", "1"), record("a", "2", true), record("a", "3", true)];
  await chains.append(sealed({ records, expected: new Map([["a", NO_AUDIT_ID]]) }));
  expect(chains.events).toEqual([
    { auditId: idOf("2"), jws: "jws of 2" },
    { auditId: idOf("3"), jws: "jws of 3" },
  ]);
  const [first] = chains.events;
  // A second call that forgets it takes no other with it.
  for (let time = 0; time < 2; time += 1) {
    if (first !== undefined) chains.forgetEvents(first);
    expect(chains.events.map(({ auditId }) => auditId)).toEqual([idOf("3")]);
  }
  expect([...chains.heads.takeChanged().keys()]).toEqual(["a"]);
  expect(chains.heads.takeChanged().size).toBe(0);
});

it("keeps one path a chain, however workers race", async () => {
  const step = fc.record({
    worker: fc.nat(2),
    agent: fc.nat(2),
    count: fc.integer({ min: 1, max: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(step, { maxLength: 6 }), { maxLength: 8 }),
      async (turns) => {
        const store = makeStore();
        const chains = new SealedChains(store, new Map());
        const known = new Map<string, string>();
        const previous = new Map<string, string>();
        const agentOf = new Map<string, string>();
        let number = 0;
        for (const turn of turns) {
          await Promise.all(
            turn.map(async ({ worker, agent, count }) => {
              const place = `${worker} ${agent}`;
              const before = known.get(place) ?? NO_AUDIT_ID;
              const names = Array.from({ length: count }, (_, more) => `${number + more}`);
              const auditIds = names.map(idOf);
              number += count;
              for (const [index, id] of auditIds.entries()) {
                previous.set(id, auditIds[index - 1] ?? before);
                agentOf.set(id, `${agent}`);
              }
              const moved = await chains.append(batch(`${agent}`, before, ...names));
              const head = moved[0]?.[1]?.auditId;
              known.set(place, head ?? auditIds.at(-1) ?? before);
            }),
          );
        }
        for (const agent of ["0", "1", "2"]) {
          let head = NO_AUDIT_ID;
          for (const { auditId } of store.records) {
            if (agentOf.get(auditId) !== agent) continue;
            expect(previous.get(auditId)).toBe(head);
            head = auditId;
          }
        }
      },
    ),
    { numRuns: 50 },
  );
});
