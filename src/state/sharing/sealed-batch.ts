/**
 * Records on their way from a worker to its parent: the records themselves are lines beside the
 * message, as they will stand in the journal, and of the rest nothing is said twice.
 */
import type { Chain } from "../records/record.ts";
import type { ChainedRecord, RecordBatch } from "../records/record-store.ts";

/** A batch without its records' texts. */
export interface BatchMessage {
  /** The chains, and the Audit-ID that each is expected to end with; 64 zeros for a new one. */
  readonly expected: readonly (readonly [string, string])[];
  /** In order: Audit-ID, number of the chain, time, method, length, and 1 for an event. */
  readonly records: readonly (readonly [string, number, number, string, number, 0 | 1])[];
}

/** A batch as a message and the lines beside it. */
export function encodeBatch({ records, expected }: RecordBatch): {
  readonly message: BatchMessage;
  readonly lines: readonly string[];
} {
  const numbers = new Map([...expected.keys()].map((agentId, number) => [agentId, number]));
  const lines: string[] = [];
  const told: BatchMessage["records"][number][] = [];
  for (const { auditId, jws, chain } of records) {
    const { agentId, at, method, isEvent } = chain;
    told.push([auditId, numbers.get(agentId) ?? -1, at, method, jws.length, isEvent ? 1 : 0]);
    lines.push(jws);
  }
  return { message: { expected: [...expected], records: told }, lines };
}

const EVENT = { isEvent: true } as const;

/** The batch of a message and the octets beside it; throws where they do not fit. */
export function decodeBatch(message: BatchMessage, octets: Buffer): RecordBatch {
  let at = 0;
  const records = message.records.map((record): ChainedRecord => {
    const [auditId, number, issuedAt, method, length, event] = record;
    const agentId = message.expected[number]?.[0];
    if (agentId === undefined || at + length >= octets.length) throw new Error("a torn batch");
    const jws = octets.toString("latin1", at, at + length);
    at += length + 1;
    const chain: Chain = { agentId, at: issuedAt, method, ...(event === 1 && EVENT) };
    return { auditId, jws, chain };
  });
  return { records, expected: new Map(message.expected) };
}
