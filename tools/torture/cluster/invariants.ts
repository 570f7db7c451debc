/**
 * The checker: what must be true of a cluster whatever was killed, stopped, cut off or promoted. Each
 * invariant is a function of the evidence, and answers with what contradicts it, in words.
 */
import type { Asked, Evidence, Failover, StoredRecord } from "./history.ts";

const NO_RECORD = "0".repeat(64);

/** A statement that holds of every cluster. */
export interface Invariant {
  readonly name: string;
  check(evidence: Evidence): readonly string[];
}

/** Every Audit-ID that a client received is in its agent's chain once. */
const recordsAreKept: Invariant = {
  name: "acknowledged records are kept, once",
  check(evidence) {
    const { asked, records, failovers } = evidence;
    const counts = new Map<string, number>();
    for (const { agent, auditId } of records) {
      counts.set(`${agent} ${auditId}`, (counts.get(`${agent} ${auditId}`) ?? 0) + 1);
    }
    return asked.flatMap((one) => {
      const { auditId, agent, id, node } = one;
      if (auditId === undefined) return [];
      const count = counts.get(`${agent} ${auditId}`) ?? 0;
      if (count === 1) return [];
      const failover = count === 0 ? failovers.find(({ at }) => one.sentAt < at) : undefined;
      if (failover?.told.includes(node) === true) return [];
      const silently = failover === undefined ? "" : ", and its node did not end";
      return [`request ${id}: record ${auditId} is there ${count} times${silently}`];
    });
  },
};

/** A chain is one path: no shared predecessor, no gap, and its head is its end. */
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

/** A reply that was received before a request was sent comes before it in the chain. */
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

/** At most one effect for an Idempotency-Key; every effect has a record, or somebody was told "unknown". */
const effectsAreOnce: Invariant = {
  name: "a key has one effect",
  check({ effects, asked, records, failovers }) {
    const recorded = new Set(records.flatMap((one) => (one.status < 300 ? [one.requestId] : [])));
    const byKey = grouped(effects, ({ key, at }) => `${key} ${epochOf(at, failovers)}`);
    return [...byKey].flatMap(([name, all]) => {
      const [key = ""] = name.split(" ");
      if (all.length > 1) return [`key ${key} had ${all.length} effects`];
      const own = asked.filter((one) => one.kind === "effect" && one.key === key);
      const isKnown = own.some((one) => isUnknown(one) || recorded.has(one.id));
      const isLost = own.some((one) => failovers.some(({ at }) => one.sentAt < at));
      return isKnown || isLost ? [] : [`the effect of key ${key} has no record`];
    });
  },
};

/** No 2xx to a request that was sent after a REVOKE of its agent was answered 200. */
const revokedIsRevoked: Invariant = {
  name: "a revoked agent is revoked",
  check(evidence) {
    const { asked, records } = evidence;
    const kept = new Set(records.map(({ auditId }) => auditId));
    const revokedAt = new Map<string, number>();
    for (const { kind, key, status, heardAt, auditId } of asked) {
      const isDone = kind === "revoke" && status === 200 && heardAt !== undefined;
      // A failover that lost the record has lost the revocation, and was told of.
      if (!isDone || key === undefined || !kept.has(auditId ?? "")) continue;
      revokedAt.set(key, Math.min(heardAt, revokedAt.get(key) ?? heardAt));
    }
    return asked.flatMap(({ id, node, agent, kind, sentAt, status = 0 }) => {
      const since = revokedAt.get(agent);
      if (kind === "revoke" || since === undefined || sentAt <= since) return [];
      if (status < 200 || status > 259) return [];
      const late = Math.round(sentAt - since);
      return [`node ${node} answered ${status} to ${id}, ${late} ms after ${agent} was revoked`];
    });
  },
};

/** A nonce is won once. */
const noncesAreOnce: Invariant = {
  name: "a nonce is won once",
  check({ asked, failovers }) {
    const won = asked.filter(({ kind, status }) => kind === "resume" && status === 200);
    const byNonce = grouped(won, ({ key, sentAt }) => `${key} ${epochOf(sentAt, failovers)}`);
    return [...byNonce].flatMap(([name, all]) =>
      all.length > 1 ? [`nonce ${name.split(" ")[0]} was won ${all.length} times`] : [],
    );
  },
};

/** A node that is cut off says 503 once its lease is over, and never 2xx. */
const cutOffIsSilent: Invariant = {
  name: "a node that is cut off serves nobody",
  check({ asked, cutOffs, leaseMs }) {
    return cutOffs.flatMap(({ node, from, until }) =>
      asked.flatMap(({ id, node: by, sentAt, heardAt, status }) => {
        const isWithin = by === node && sentAt > from + leaseMs;
        if (!isWithin || heardAt === undefined || heardAt > until) return [];
        if (status === 503) return [];
        const after = Math.round(sentAt - from);
        return [`node ${node} answered ${status} to ${id}, ${after} ms after it was cut off`];
      }),
    );
  },
};

/** A run ends once. */
const runsEndOnce: Invariant = {
  name: "a run ends once",
  check({ runEnds }) {
    const byRun = grouped(runEnds, ({ run }) => run);
    return [...byRun].flatMap(([run, ends]) => {
      if (ends.length === 1) return [];
      return [`run ${run} ended ${ends.length} times: ${ends.map(({ outcome }) => outcome)}`];
    });
  },
};

/** All of them, in the order of their numbers. */
export const INVARIANTS: readonly Invariant[] = [
  ...[recordsAreKept, chainsArePaths, orderIsKept, effectsAreOnce],
  ...[revokedIsRevoked, noncesAreOnce, cutOffIsSilent, runsEndOnce],
];

/** Everything that contradicts an invariant, with the number and the name of it. */
export function contradictions(evidence: Evidence): readonly string[] {
  return INVARIANTS.flatMap(({ name, check }, index) =>
    check(evidence).map((fault) => `${index + 1}. ${name}: ${fault}`),
  );
}

/** Nobody can tell what became of it, and its client was told so, or nothing. */
function isUnknown({ status, code = "" }: Asked): boolean {
  return status === undefined || code.endsWith("outcome-unknown") || code.endsWith("in-use");
}

function byAgent(records: readonly StoredRecord[]): ReadonlyMap<string, readonly StoredRecord[]> {
  return grouped(records, ({ agent }) => agent);
}

/** The records from the first on, as far as they can be followed. */
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

/** So many failovers came before. */
function epochOf(at: number, failovers: readonly Failover[]): number {
  return failovers.filter((failover) => failover.at <= at).length;
}

function grouped<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
