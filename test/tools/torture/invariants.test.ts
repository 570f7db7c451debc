/** The checker of the cluster's torture: it finds nothing wrong with what is right, and each wrong. */
import { describe, expect, it } from "vitest";
import type { Asked, Evidence, StoredRecord } from "../../../tools/torture/cluster/history.ts";
import { contradictions } from "../../../tools/torture/cluster/invariants.ts";

const AGENT = "a".repeat(64);
const ROOT = "0".repeat(64);

function asked(id: string, changes: Partial<Asked> = {}): Asked {
  const at = 10 * Number(id.slice(1));
  const answer = { heardAt: at + 5, status: 200, auditId: `record-${id}` };
  return { id, node: "a", agent: AGENT, kind: "call", sentAt: at, ...answer, ...changes };
}

function record(id: string, previous: string, changes: Partial<StoredRecord> = {}): StoredRecord {
  const auditId = `record-${id}`;
  return {
    auditId,
    agent: AGENT,
    previous,
    requestId: id,
    status: 200,
    isSigned: true,
    ...changes,
  };
}

const unheard = { heardAt: undefined, status: undefined, auditId: undefined };

/** Requests in one chain: a call, an effect, a resumption and a revocation; others that made no record. */
const TRUE: Evidence = {
  asked: [
    asked("r1"),
    asked("r2", { kind: "effect", key: "k" }),
    asked("r3", { kind: "resume", key: "n", node: "b" }),
    asked("r4", { kind: "revoke", key: AGENT }),
    asked("r5", { status: 410, auditId: undefined }),
    asked("r6", { agent: "b", kind: "approved", key: "room", ...unheard }),
    asked("r7", { agent: "b", kind: "run", key: "w", status: 202, auditId: undefined }),
    asked("r8", { agent: "b", kind: "look", key: "w", said: "completed", auditId: undefined }),
  ],
  cutOffs: [{ node: "c", from: 100, until: 2_000 }],
  failovers: [],
  leaseMs: 1_000,
  records: [
    record("r1", ROOT),
    record("r2", "record-r1"),
    record("r3", "record-r2"),
    record("r4", "record-r3"),
  ],
  heads: new Map([[AGENT, "record-r4"]]),
  effects: [
    { key: "k", at: 21 },
    { key: "room", at: 61 },
  ],
  runEnds: [{ run: "w", outcome: "completed", isLast: true }],
};

/** With further requests. */
function more(...others: readonly Asked[]): Evidence {
  return { ...TRUE, asked: [...TRUE.asked, ...others] };
}

const cutOff = { node: "c", sentAt: 1_200, heardAt: 1_205, auditId: undefined };

describe("the checker of a cluster", () => {
  it.each<[string, Evidence]>([
    ["a history that is true", TRUE],
    ["a request that was never answered", more(asked("r9", unheard))],
    [
      "an effect that nobody knows the outcome of",
      {
        ...more(asked("r9", { kind: "effect", key: "x", ...unheard })),
        effects: [...TRUE.effects, { key: "x", at: 91 }],
      },
    ],
    ["a node that is cut off and says so", more(asked("r9", { ...cutOff, status: 503 }))],
    [
      "a node that is cut off, within its lease",
      more(asked("r9", { ...cutOff, sentAt: 900, agent: "b" })),
    ],
    [
      "a record that a failover lost, and whose node ended",
      {
        ...more(asked("r9", { agent: "b" })),
        failovers: [{ at: 1_000, told: ["a"] }],
      },
    ],
    [
      "a run that a failover lost",
      {
        ...more(
          asked("r6", { agent: "b", kind: "run", key: "v", status: 202, auditId: undefined }),
          asked("r7", { agent: "b", kind: "look", key: "v", said: "failed", auditId: undefined }),
          asked("r9", { agent: "b", kind: "look", key: "v", status: 404, auditId: undefined }),
        ),
        failovers: [{ at: 80, told: ["a"] }],
      },
    ],
    [
      "a revocation that a failover lost",
      {
        ...more(
          asked("r6", { kind: "revoke", key: "b", agent: "b" }),
          asked("r9", { agent: "b", auditId: undefined }),
        ),
        failovers: [{ at: 80, told: ["a"] }],
      },
    ],
  ])("finds nothing wrong with %s", (_, evidence) => {
    expect(contradictions(evidence)).toEqual([]);
  });

  it.each<[number, string, Evidence]>([
    [1, "is there 0 times", more(asked("r9", { agent: "b", auditId: "record-gone" }))],
    [1, "is there 2 times", { ...TRUE, records: [...TRUE.records, record("r2", "record-r4")] }],
    [
      1,
      "its node did not end",
      { ...more(asked("r9", { agent: "b" })), failovers: [{ at: 1_000, told: ["b"] }] },
    ],
    [
      2,
      "follow the same record",
      { ...TRUE, records: [...TRUE.records, record("r6", "record-r3")] },
    ],
    [2, "has 1 of 3 records", { ...TRUE, records: TRUE.records.toSpliced(1, 1) }],
    [2, "is not its last record", { ...TRUE, heads: new Map([[AGENT, "record-r3"]]) }],
    [
      2,
      "is not signed",
      { ...TRUE, records: TRUE.records.with(0, record("r1", ROOT, { isSigned: false })) },
    ],
    [
      3,
      "request r2 was sent after r1 was answered, and comes before it",
      {
        ...TRUE,
        records: [
          record("r2", ROOT),
          record("r1", "record-r2"),
          record("r3", "record-r1"),
          record("r4", "record-r3"),
        ],
      },
    ],
    [4, "had 2 effects", { ...TRUE, effects: [...TRUE.effects, { key: "k", at: 22 }] }],
    [4, "has no record", { ...TRUE, effects: [...TRUE.effects, { key: "x", at: 22 }] }],
    [4, "key room had 2 effects", { ...TRUE, effects: [...TRUE.effects, { key: "room", at: 62 }] }],
    [
      4,
      "the effect of key y has no record",
      {
        ...more(asked("r9", { agent: "b", kind: "approved", key: "y", auditId: undefined })),
        effects: [...TRUE.effects, { key: "y", at: 91 }],
      },
    ],
    [
      4,
      "request r9 was answered 200, and key z had no effect",
      more(asked("r9", { agent: "b", kind: "effect", key: "z", auditId: undefined })),
    ],
    [
      4,
      "request r9 for key k was answered with that of room",
      more(asked("r9", { agent: "b", kind: "effect", key: "k", said: "room", auditId: undefined })),
    ],
    [5, "answered 200 to r9, 45 ms after", more(asked("r9", { node: "b", auditId: undefined }))],
    [6, "was won 2 times", more(asked("r2", { kind: "resume", key: "n", auditId: undefined }))],
    [
      6,
      "approval room was won 2 times",
      more(
        asked("r8", { agent: "b", kind: "approved", key: "room", auditId: undefined }),
        asked("r9", { agent: "b", kind: "approved", key: "room", node: "b", auditId: undefined }),
      ),
    ],
    [7, "answered 200 to r9, 1100 ms after", more(asked("r9", { ...cutOff, agent: "b" }))],
    [
      8,
      "ended 2 times: completed,failed",
      { ...TRUE, runEnds: [...TRUE.runEnds, { run: "w", outcome: "failed", isLast: true }] },
    ],
    [
      8,
      "run w went on after its end",
      { ...TRUE, runEnds: [{ run: "w", outcome: "completed", isLast: false }] },
    ],
    [
      8,
      "run v did not end",
      more(asked("r9", { agent: "b", kind: "run", key: "v", status: 202, auditId: undefined })),
    ],
    [
      8,
      "request r9 was told that run w is cancelled, and it is completed",
      more(
        asked("r9", { agent: "b", kind: "look", key: "w", said: "cancelled", auditId: undefined }),
      ),
    ],
    [
      8,
      "request r9 was told that run v is completed, and it is undefined",
      more(
        asked("r9", { agent: "b", kind: "look", key: "v", said: "completed", auditId: undefined }),
      ),
    ],
    [
      8,
      "request r9 was told that there is no run w",
      more(asked("r9", { agent: "b", kind: "look", key: "w", status: 404, auditId: undefined })),
    ],
    [
      9,
      "request r9 came with the record of r3",
      more(asked("r9", { agent: "b", auditId: "record-r3" })),
    ],
    [
      9,
      "request r1 was answered 200, and its record says 404",
      { ...TRUE, records: TRUE.records.with(0, record("r1", ROOT, { status: 404 })) },
    ],
  ])("tells that invariant %i does not hold: %s", (number, message, evidence) => {
    const found = contradictions(evidence);
    expect(found.filter((one) => one.startsWith(`${number}. `)).join("\n")).toContain(message);
  });
});
