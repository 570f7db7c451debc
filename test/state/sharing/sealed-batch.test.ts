/** Batches on their way from a worker to its parent. */
import { expect, it } from "vitest";
import type { RecordBatch } from "../../../src/state/records/record-store.ts";
import { decodeBatch, encodeBatch } from "../../../src/state/sharing/sealed-batch.ts";

const BATCH: RecordBatch = {
  records: [
    {
      auditId: "1",
      jws: "e30.a.",
      chain: { agentId: "a", at: 5, method: "QUERY" },
    },
    {
      auditId: "2",
      jws: "e30.b.",
      chain: { agentId: "b", at: 6, method: "REVOKE", isEvent: true },
    },
    {
      auditId: "3",
      jws: "e30.aa.",
      chain: { agentId: "a", at: 7, method: "QUERY" },
    },
  ],
  expected: new Map([
    ["a", "0"],
    ["b", "9"],
  ]),
};

function linesOf(lines: readonly string[]): Buffer {
  return Buffer.from(lines.map((line) => `${line}\n`).join(""), "latin1");
}

it("arrive as they were sent", () => {
  const { message, lines } = encodeBatch(BATCH);
  const octets = linesOf(lines);
  const arrived = decodeBatch(JSON.parse(JSON.stringify(message)), octets);
  const records = arrived.records.map(({ auditId, jws, chain }) => ({ auditId, jws, chain }));
  expect({ records, expected: arrived.expected }).toEqual(BATCH);
  expect(arrived.records.map(({ length }) => length)).toEqual([6, 6, 7]);
  expect(arrived.lines).toBe(octets);
});

it("are refused where a record is missing, or belongs to no chain", () => {
  const { message, lines } = encodeBatch(BATCH);
  expect(() => decodeBatch(message, linesOf(lines.slice(0, 2)))).toThrow("a torn batch");
  expect(() => decodeBatch({ ...message, expected: [] }, linesOf(lines))).toThrow("a torn batch");
  expect(() => decodeBatch({ ...message, methods: [] }, linesOf(lines))).toThrow("a torn batch");
  const [, ...ids] = message.ids;
  expect(() => decodeBatch({ ...message, ids }, linesOf(lines))).toThrow("a torn batch");
  const short = { ...message, fields: message.fields.slice(0, -1) };
  expect(() => decodeBatch(short, linesOf(lines))).toThrow("a torn batch");
});
