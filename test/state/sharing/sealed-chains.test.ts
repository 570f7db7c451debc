/** Batches of several workers, decided by their parent: one path a chain, and nothing kept twice. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { NO_AUDIT_ID } from "../../../src/state/records/record.ts";
import type {
  ChainedRecord,
  RecordBatch,
  RecordStore,
} from "../../../src/state/records/record-store.ts";
import { SealedChains } from "../../../src/state/sharing/sealed-chains.ts";

interface Kept extends RecordStore {
  readonly records: ChainedRecord[];
  readonly writes: number[];
  fault: Error | undefined;
}

function makeStore(): Kept {
  const store: Kept = {
    ...{ isImmediate: true, records: [], writes: [], fault: undefined },
    append({ records }) {
      if (store.fault !== undefined) throw store.fault;
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

function record(agentId: string, auditId: string, isEvent = false): ChainedRecord {
  const chain = { agentId, at: 1, method: "QUERY", ...(isEvent && { isEvent: true as const }) };
  return { auditId, jws: `jws of ${auditId}`, chain };
}

function batch(agentId: string, before: string, ...auditIds: readonly string[]): RecordBatch {
  return {
    records: auditIds.map((auditId) => record(agentId, auditId)),
    expected: new Map([[agentId, before]]),
  };
}

it("keeps the first of two that follow the same record, and tells the other the head", async () => {
  const store = makeStore();
  const chains = new SealedChains(store, new Map());
  const both = [
    chains.append(batch("a", NO_AUDIT_ID, "1", "2")),
    chains.append(batch("a", NO_AUDIT_ID, "x")),
  ];
  const [won, lost] = await Promise.all(both);
  expect(won).toEqual([]);
  expect(lost).toEqual([["a", expect.objectContaining({ auditId: "2" })]]);
  expect(store.records.map(({ auditId }) => auditId)).toEqual(["1", "2"]);
  expect(await chains.append(batch("a", "2", "x"))).toEqual([]);
});

it("writes the octets that came, and none of a chain that has moved", async () => {
  const written: (string | undefined)[] = [];
  const store = makeStore();
  const noting: RecordStore = {
    ...store,
    append: (appended) => {
      written.push(appended.lines && Buffer.from(appended.lines).toString());
      return store.append(appended);
    },
  };
  const chains = new SealedChains(noting, new Map());
  const withLines = (one: RecordBatch): RecordBatch => ({
    ...one,
    lines: Buffer.from(one.records.map(({ jws }) => `${jws}\n`).join("")),
  });
  const [a, b] = [batch("a", NO_AUDIT_ID, "1", "2"), batch("b", NO_AUDIT_ID, "3")];
  await Promise.all([chains.append(withLines(a)), chains.append(withLines(b))]);
  const late = [batch("a", "1", "x"), batch("b", "3", "4")];
  await Promise.all(late.map((one) => chains.append(withLines(one))));
  await chains.append(batch("a", "2", "5"));
  expect(written).toEqual(["jws of 1\njws of 2\njws of 3\n", undefined, undefined]);
  expect(store.records.map(({ auditId }) => auditId)).toEqual(["1", "2", "3", "4", "5"]);
});

it("writes what arrives in one turn at once", async () => {
  const store = makeStore();
  const chains = new SealedChains(store, new Map());
  const agents = ["a", "b", "c"];
  await Promise.all(agents.map((agent) => chains.append(batch(agent, NO_AUDIT_ID, `of ${agent}`))));
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
  expect(chains.heads.size).toBe(0);
  store.fault = undefined;
  expect(await chains.append(batch("a", NO_AUDIT_ID, "1"))).toEqual([]);
});

it("remembers events until they are stored", async () => {
  const chains = new SealedChains(makeStore(), new Map());
  const records = [record("a", "1"), record("a", "2", true), record("a", "3", true)];
  await chains.append({ records, expected: new Map([["a", NO_AUDIT_ID]]) });
  expect(chains.events.map(({ auditId }) => auditId)).toEqual(["2", "3"]);
  chains.forgetEvents(1);
  expect(chains.events.map(({ auditId }) => auditId)).toEqual(["3"]);
  expect([...chains.takeChanged().keys()]).toEqual(["a"]);
  expect(chains.takeChanged().size).toBe(0);
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
        let number = 0;
        for (const turn of turns) {
          await Promise.all(
            turn.map(async ({ worker, agent, count }) => {
              const place = `${worker} ${agent}`;
              const before = known.get(place) ?? NO_AUDIT_ID;
              const auditIds = Array.from({ length: count }, (_, more) => `${number + more}`);
              number += count;
              for (const [index, id] of auditIds.entries()) {
                previous.set(id, auditIds[index - 1] ?? before);
              }
              const moved = await chains.append(batch(`${agent}`, before, ...auditIds));
              const head = moved[0]?.[1]?.auditId;
              known.set(place, head ?? auditIds.at(-1) ?? before);
            }),
          );
        }
        for (const agent of ["0", "1", "2"]) {
          let head = NO_AUDIT_ID;
          for (const { auditId, chain } of store.records) {
            if (chain.agentId !== agent) continue;
            expect(previous.get(auditId)).toBe(head);
            head = auditId;
          }
        }
      },
    ),
    { numRuns: 50 },
  );
});
