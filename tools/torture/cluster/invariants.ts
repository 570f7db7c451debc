/**
 * The checker: properties that hold in a cluster whatever was killed, stopped, cut off or promoted. Each
 * invariant is a function of the evidence that returns its violations, in words.
 */
import { CHAIN_INVARIANTS, recordsAreTrue } from "./chain-invariants.ts";
import { grouped } from "./grouped.ts";
import { type Asked, type Evidence, type Failover, type Invariant, isEnd } from "./history.ts";

/**
 * An Idempotency-Key has at most one effect; every effect has a record, or a client was told
 * "unknown"; and an effect that was answered as done exists, for the requested key.
 */
const effectsAreOnce: Invariant = {
  name: "a key has one effect",
  check({ effects, asked, records, failovers }) {
    const recorded = new Set(records.flatMap((one) => (one.status < 300 ? [one.requestId] : [])));
    const byKey = grouped(effects, ({ key, at }) => `${key} ${epochOf(at, failovers)}`);
    const askedBy = grouped(
      asked.filter(({ kind }) => kind === "effect" || kind === "approved"),
      ({ key = "" }) => key,
    );
    const done = new Set(effects.map(({ key }) => key));
    const untrue = asked.flatMap(({ id, kind, key = "", status, said = key }) => {
      if ((kind !== "effect" && kind !== "approved") || status !== 200) return [];
      if (!done.has(key)) return [`request ${id} was answered 200, and key ${key} had no effect`];
      return said === key ? [] : [`request ${id} for key ${key} was answered with that of ${said}`];
    });
    const wrong = [...byKey].flatMap(([name, all]) => {
      const [key = ""] = name.split(" ");
      if (all.length > 1) return [`key ${key} had ${all.length} effects`];
      const own = askedBy.get(key) ?? [];
      const isKnown = own.some((one) => isUnknown(one) || recorded.has(one.id));
      const isLost = own.some((one) => failovers.some(({ at }) => one.sentAt < at));
      return isKnown || isLost ? [] : [`the effect of key ${key} has no record`];
    });
    return [...wrong, ...untrue];
  },
};

/** After a REVOKE was answered 200, later requests of its agent get no 2xx. */
const revokedIsRevoked: Invariant = {
  name: "a revoked agent is revoked",
  check(evidence) {
    const { asked, records } = evidence;
    const kept = new Set(records.map(({ auditId }) => auditId));
    const revokedAt = new Map<string, number>();
    for (const { kind, key, status, heardAt, auditId } of asked) {
      const isDone = kind === "revoke" && status === 200 && heardAt !== undefined;
      // A failover that lost the record also lost the revocation, and has been reported.
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

/** A nonce is used once, and so is an approval. */
const winningsAreOnce: Invariant = {
  name: "a nonce or an approval is won once",
  check({ asked, failovers }) {
    const won = asked.filter(
      ({ kind, status }) => (kind === "resume" || kind === "approved") && status === 200,
    );
    const byName = grouped(won, (one) => {
      const what = one.kind === "resume" ? "nonce" : "approval";
      return `${what} ${one.key} ${epochOf(one.sentAt, failovers)}`;
    });
    return [...byName].flatMap(([name, all]) => {
      const [what, key] = name.split(" ");
      return all.length > 1 ? [`${what} ${key} was won ${all.length} times`] : [];
    });
  },
};

/** After the end of its lease, a node that is cut off answers 503 only. */
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

/**
 * A run ends once, without later events; answers about its end agree with it, and none claims that
 * the run does not exist.
 */
const runsEndOnce: Invariant = {
  name: "a run ends once",
  check({ runEnds, asked, failovers }) {
    const byRun = grouped(runEnds, ({ run }) => run);
    const isSafe = ({ sentAt }: Asked): boolean => failovers.every(({ at }) => at <= sentAt);
    const wrong = [...byRun].flatMap(([run, ends]) => {
      if (ends.length > 1) {
        return [`run ${run} ended ${ends.length} times: ${ends.map(({ outcome }) => outcome)}`];
      }
      return ends[0]?.isLast === true ? [] : [`run ${run} went on after its end`];
    });
    const begun = asked.filter((one) => one.kind === "run" && one.status === 202 && isSafe(one));
    const begunAt = new Map(begun.map(({ key = "", heardAt }) => [key, heardAt]));
    const isBegun = (run: string, by: number): boolean =>
      (begunAt.get(run) ?? Number.POSITIVE_INFINITY) <= by;
    const told = asked.filter(isSafe).flatMap(({ kind, key = "", status, said, id, sentAt }) => {
      const [end] = byRun.get(key) ?? [];
      if (kind === "run" && status === 202 && end === undefined) return [`run ${key} did not end`];
      if (kind === "look" && status === 404 && isBegun(key, sentAt)) {
        return [`request ${id} was told that there is no run ${key}`];
      }
      if (kind !== "look" || !isEnd(said) || end?.outcome === said) return [];
      return [`request ${id} was told that run ${key} is ${said}, and it is ${end?.outcome}`];
    });
    return [...wrong, ...told];
  },
};

/** The invariants in the order of their numbers. */
const INVARIANTS: readonly Invariant[] = [
  ...[...CHAIN_INVARIANTS, effectsAreOnce],
  ...[revokedIsRevoked, winningsAreOnce, cutOffIsSilent, runsEndOnce, recordsAreTrue],
];

/** Returns the violations, each with the invariant's number and name. */
export function contradictions(evidence: Evidence): readonly string[] {
  return INVARIANTS.flatMap(({ name, check }, index) =>
    check(evidence).map((fault) => `${index + 1}. ${name}: ${fault}`),
  );
}

/** Returns true if the outcome is unknown, and the client was told so, or nothing. */
function isUnknown({ status, code = "" }: Asked): boolean {
  return status === undefined || code.endsWith("outcome-unknown") || code.endsWith("in-use");
}

/** The number of earlier failovers. */
function epochOf(at: number, failovers: readonly Failover[]): number {
  return failovers.filter((failover) => failover.at <= at).length;
}
