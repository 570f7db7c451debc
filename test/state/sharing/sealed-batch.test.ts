/** Batches on their way from a worker to its parent. */
import { expect, it } from "vitest";
import type { RecordBatch } from "../../../src/state/records/record-store.ts";
import {
  type BatchMessage,
  decodeBatch,
  encodeBatch,
  withoutChains,
} from "../../../src/state/sharing/sealed-batch.ts";
import { arrived } from "../../support/cargo.ts";

const [ONE, TWO, THREE] = ["1", "2", "3"].map((digit) => digit.repeat(64)) as [
  string,
  string,
  string,
];

const BATCH: RecordBatch = {
  records: [
    {
      auditId: ONE,
      jws: "e30.a.",
      chain: { agentId: "a", at: 5, method: "QUERY" },
    },
    {
      auditId: TWO,
      jws: "e30.b.",
      chain: { agentId: "b", at: 6, method: "REVOKE", isEvent: true },
    },
    {
      auditId: THREE,
      jws: "e30.aa.",
      chain: { agentId: "a", at: 7, method: "BOOK" },
    },
  ],
  expected: new Map([
    ["a", "0"],
    ["b", "9"],
  ]),
};

function sent(batch: RecordBatch = BATCH): { message: BatchMessage; octets: Buffer } {
  const { message, cargo } = encodeBatch(batch);
  return { message: JSON.parse(JSON.stringify(message)), octets: arrived(cargo) };
}

it("arrive as they were sent", () => {
  const { message, octets } = sent();
  const { chains, records, chainOf, events } = decodeBatch(message, octets);
  expect(chains).toEqual([
    { agentId: "a", expected: "0", last: 2, at: 7, method: "BOOK" },
    { agentId: "b", expected: "9", last: 1, at: 6, method: "REVOKE" },
  ]);
  expect({ chainOf, events }).toEqual({ chainOf: [0, 1, 0], events: [1] });
  expect(records.all()).toEqual(BATCH.records.map(({ auditId, jws }) => ({ auditId, jws })));
  expect([0, 1, 2].map((index) => records.lengthOf(index))).toEqual([6, 6, 7]);
  expect(records.lines.toString()).toBe("e30.a.\ne30.b.\ne30.aa.\n");
});

it("go on without the chains that have moved", () => {
  const { message, octets } = sent();
  const batch = decodeBatch(message, octets);
  const onlyA = withoutChains(batch, new Set(["b"]));
  expect(onlyA?.chains).toEqual([{ agentId: "a", expected: "0", last: 1, at: 7, method: "BOOK" }]);
  expect({ chainOf: onlyA?.chainOf, events: onlyA?.events }).toEqual({
    chainOf: [0, 0],
    events: [],
  });
  expect(onlyA?.records.lines.toString()).toBe("e30.a.\ne30.aa.\n");
  const onlyB = withoutChains(batch, new Set(["a"]));
  expect(onlyB?.chains).toEqual([
    { agentId: "b", expected: "9", last: 0, at: 6, method: "REVOKE" },
  ]);
  expect(onlyB?.events).toEqual([0]);
  expect(onlyB?.records.all()).toEqual([{ auditId: TWO, jws: "e30.b." }]);
  expect(withoutChains(batch, new Set(["a", "b"]))).toBeUndefined();
});

it("are refused where a record is missing, or belongs to no chain", () => {
  const { message, octets } = sent();
  const [first] = message.chains;
  const torn: readonly (readonly [Partial<BatchMessage>, Buffer])[] = [
    [{}, octets.subarray(0, -1)],
    [{}, Buffer.concat([octets, Buffer.from("\n")])],
    [{}, octets.subarray(0, 10)],
    [{ count: 2 }, octets],
    [{ count: 4 }, octets],
    [{ chains: [] }, octets],
    [{ chains: first === undefined ? [] : [first] }, octets],
    [
      { chains: message.chains.map(([id, before, , at, method]) => [id, before, 3, at, method]) },
      octets,
    ],
    [{ events: [3] }, octets],
  ];
  for (const [change, left] of torn) {
    expect(() => decodeBatch({ ...message, ...change }, left)).toThrow("a torn batch");
  }
});
