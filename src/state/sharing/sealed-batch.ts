/**
 * Records on their way from a worker to its parent: each chain's expected and new head, and each record's line,
 * which is written to the journal unchanged. The cargo consists of the Audit-IDs, then the chain number and length
 * of each record, then the lines.
 */
import type { Cargo } from "../../base/link.ts";
import { ID_OCTETS, PackedRecords } from "../journal/packed-records.ts";
import type { RecordBatch } from "../records/record-store.ts";

/** A chain of a batch, as encoded in a message. */
type ChainMessage = readonly [
  agentId: string,
  expected: string,
  last: number,
  at: number,
  method: string,
];

/** A batch without its records. */
export interface BatchMessage {
  readonly count: number;
  readonly chains: readonly ChainMessage[];
  /** The indexes of records that are events of their agents. */
  readonly events: readonly number[];
}

/** A chain's part of a batch. */
interface SealedChain {
  readonly agentId: string;
  /** The Audit-ID of the expected head; 64 zeros for a new chain. */
  readonly expected: string;
  /** The index of the chain's last record, and that record's time and method. */
  readonly last: number;
  readonly at: number;
  readonly method: string;
}

export interface SealedBatch {
  readonly chains: readonly SealedChain[];
  readonly records: PackedRecords;
  /** For each record the index of its chain. */
  readonly chainOf: readonly number[];
  readonly events: readonly number[];
}

/** A chain number and a length. */
const FIELD_OCTETS = 8;

/** Encodes a batch as a message and its cargo. */
export function encodeBatch({ records, expected }: RecordBatch): {
  readonly message: BatchMessage;
  readonly cargo: Cargo;
} {
  const numbers = new Map([...expected.keys()].map((agentId, number) => [agentId, number]));
  const chains = [...expected].map((chain): ChainMessage => [...chain, -1, 0, ""]);
  const chainOf: number[] = [];
  const events: number[] = [];
  let length = records.length * (ID_OCTETS + FIELD_OCTETS);
  for (const [index, { jws, chain }] of records.entries()) {
    const { agentId, at, method, isEvent } = chain;
    // Records of a chain are consecutive.
    const isSame = records[index - 1]?.chain.agentId === agentId;
    const number = (isSame ? chainOf[index - 1] : numbers.get(agentId)) ?? chains.length;
    chainOf.push(number);
    if (isEvent) events.push(index);
    if (records[index + 1]?.chain.agentId !== agentId) {
      chains[number] = [agentId, expected.get(agentId) ?? "", index, at, method];
    }
    length += jws.length + 1;
  }
  const writeTo = (frame: Buffer, start: number): void => {
    // Written at once, since each hex write costs as much as the octets.
    frame.write(records.map(({ auditId }) => auditId).join(""), start, "hex");
    let field = start + records.length * ID_OCTETS;
    let at = field + records.length * FIELD_OCTETS;
    for (const [index, { jws }] of records.entries()) {
      frame.writeUInt32LE(chainOf[index] ?? 0, field);
      frame.writeUInt32LE(jws.length, field + 4);
      field += FIELD_OCTETS;
      frame.write(jws, at, "latin1");
      at += jws.length;
      frame[at] = LINE_FEED;
      at += 1;
    }
  };
  return { message: { count: records.length, chains, events }, cargo: { length, writeTo } };
}

const LINE_FEED = 0x0a;

/** Decodes a batch, keeping the octets; throws if message and octets do not match. */
export function decodeBatch(message: BatchMessage, octets: Buffer): SealedBatch {
  const { count, chains, events } = message;
  const fields = count * ID_OCTETS;
  const from = fields + count * FIELD_OCTETS;
  if (from > octets.length) throw torn();
  const ends: number[] = [];
  const chainOf: number[] = [];
  let end = 0;
  for (let at = fields; at < from; at += FIELD_OCTETS) {
    chainOf.push(octets.readUInt32LE(at));
    end += octets.readUInt32LE(at + 4) + 1;
    ends.push(end);
  }
  const lines = octets.subarray(from);
  const isWhole = end === lines.length && chainOf.every((number) => number < chains.length);
  const hasLast = chains.every(([, , last], number) => chainOf[last] === number);
  if (!isWhole || !hasLast || events.some((index) => index >= count)) throw torn();
  return {
    chains: chains.map(([agentId, expected, last, at, method]) => ({
      ...{ agentId, expected, last, at, method },
    })),
    records: new PackedRecords(lines, octets.subarray(0, fields), ends),
    chainOf,
    events,
  };
}

/** Removes chains from a batch; undefined if nothing is left. */
export function withoutChains(
  batch: SealedBatch,
  lost: ReadonlySet<string>,
): SealedBatch | undefined {
  const { chains, records, chainOf, events } = batch;
  const kept = chains.filter(({ agentId }) => !lost.has(agentId));
  if (kept.length === 0) return undefined;
  const numbers = chains.map((chain) => kept.indexOf(chain));
  const places = new Map<number, number>();
  for (const [index, chain] of chainOf.entries()) {
    if ((numbers[chain] ?? -1) >= 0) places.set(index, places.size);
  }
  const indexes = [...places.keys()];
  return {
    chains: kept.map((chain) => ({ ...chain, last: places.get(chain.last) ?? 0 })),
    records: records.only(indexes),
    chainOf: indexes.map((index) => numbers[chainOf[index] ?? 0] ?? 0),
    events: events.flatMap((index) => places.get(index) ?? []),
  };
}

function torn(): Error {
  return new Error("a torn batch");
}
