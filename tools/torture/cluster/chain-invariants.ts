/** The invariants of records and chains. */
import { grouped } from "./grouped.ts";
import type { Asked, Invariant, StoredRecord } from "./history.ts";

const NO_RECORD = "0".repeat(64);

/** Every Audit-ID that a client received is in a chain exactly once, that of its record's agent. */
const recordsAreKept: Invariant = {
  name: "acknowledged records are kept, once",
  check(evidence) {
    const { asked, records, failovers } = evidence;
    const counts = new Map<string, number>();
    for (const { auditId } of records) counts.set(auditId, (counts.get(auditId) ?? 0) + 1);
    return asked.flatMap((one) => {
      const { auditId, id, node } = one;
      if (auditId === undefined) return [];
      const count = counts.get(auditId) ?? 0;
      if (count === 1) return [];
      const failover = count === 0 ? failovers.find(({ at }) => one.sentAt < at) : undefined;
      if (failover?.told.includes(node) === true) return [];
      const silently = failover === undefined ? "" : ", and its node did not end";
      return [`request ${id}: record ${auditId} is there ${count} times${silently}`];
    });
  },
};

/** A chain is a single path: no shared predecessor, no gap, and its last record is the head. */
const chainsArePaths: Invariant = {
  name: "a chain is one path",
  check({ records, heads }) {
    return [...byAgent(records)].flatMap(([agent, own]) => {
      const faults = own
        .filter(({ isSigned }) => !isSigned)
        .map(({ auditId }) => `record ${auditId} is not signed by the server`);
      const followers = new Map<string, StoredRecord>();
      for (const record of own) {
        const other = followers.get(record.previous);
        if (other !== undefined) {
          faults.push(`${other.auditId} and ${record.auditId} follow the same record`);
        }
        followers.set(record.previous, record);
      }
      const path = pathOf(own);
      if (path.length !== own.length) {
        faults.push(`the path of ${agent} has ${path.length} of ${own.length} records`);
      }
      const last = path.at(-1)?.auditId;
      if (heads.get(agent) !== last) faults.push(`the head of ${agent} is not its last record`);
      return faults;
    });
  },
};

/** If a reply was received before a request was sent, its record comes first in the chain. */
const orderIsKept: Invariant = {
  name: "what was answered before comes before",
  check({ records, asked }) {
    const byRecord = new Map(asked.map((one) => [one.auditId, one]));
    return [...byAgent(records).values()].flatMap((own) => {
      let latest: Asked | undefined;
      return pathOf(own).flatMap(({ auditId }) => {
        const one = byRecord.get(auditId);
        if (one?.heardAt === undefined) return [];
        const wrong = latest !== undefined && one.heardAt < latest.sentAt ? latest : undefined;
        if (latest === undefined || one.sentAt > latest.sentAt) latest = one;
        if (wrong === undefined) return [];
        return [`request ${wrong.id} was sent after ${one.id} was answered, and comes before it`];
      });
    });
  },
};

/** The record of an answer is about the same request, and contains the same status. */
export const recordsAreTrue: Invariant = {
  name: "a record is about the request that it came with",
  check({ records, asked }) {
    const byAuditId = new Map(records.map((record) => [record.auditId, record]));
    return asked.flatMap(({ id, status, auditId = "" }) => {
      const record = byAuditId.get(auditId);
      if (record === undefined) return [];
      const { requestId, status: recorded } = record;
      if (requestId !== id) return [`request ${id} came with the record of ${requestId}`];
      if (recorded === status) return [];
      return [`request ${id} was answered ${status}, and its record says ${recorded}`];
    });
  },
};

/** The first three invariants, in order. */
export const CHAIN_INVARIANTS: readonly Invariant[] = [recordsAreKept, chainsArePaths, orderIsKept];

function byAgent(records: readonly StoredRecord[]): ReadonlyMap<string, readonly StoredRecord[]> {
  return grouped(records, ({ agent }) => agent);
}

/** The path from the first record, as far as it is connected. */
function pathOf(own: readonly StoredRecord[]): readonly StoredRecord[] {
  const followers = new Map(own.map((record) => [record.previous, record]));
  const path: StoredRecord[] = [];
  let next = followers.get(NO_RECORD);
  while (next !== undefined && path.length < own.length) {
    path.push(next);
    next = followers.get(next.auditId);
  }
  return path;
}
