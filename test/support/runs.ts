/** A small kind of runs, for tests of what all kinds have in common. */
import type { EventCounts, EventRules, RunKind } from "../../src/runs/run-kind.ts";
import type { Quota } from "../../src/state/quota.ts";

export interface TestRun extends EventCounts {
  readonly runId: string;
  readonly owner: string;
  readonly startedAt: number;
  readonly status: "working" | "asking" | "done";
}

export interface TestEvent {
  readonly sequence: number;
  readonly said: string;
}

/** Bounds that a test chooses. */
interface TestRunLimits {
  readonly quota?: Quota;
  readonly keptMs?: number;
}

/** Room for every event. */
export const UNBOUNDED: EventRules<{ readonly said: string }> = {
  ...{ first: 1, most: Infinity, mostBytes: Infinity, whenFull: "refuse" },
  isNeeded: () => false,
};

/** The kind: `working`, `asking` and back, and `done`. */
export function testRunKind({
  quota = {},
  keptMs = Infinity,
}: TestRunLimits = {}): RunKind<TestRun, TestRun["status"]> {
  return {
    name: "test-runs",
    read: (value) => value as TestRun,
    statuses: {
      working: { phase: "active", next: ["asking", "done"] },
      asking: { phase: "waiting", next: ["working", "done"] },
      done: { phase: "over", next: [], rank: 0 },
    },
    statusOf: ({ status }) => status,
    idOf: ({ runId }) => runId,
    ownerOf: ({ owner }) => owner,
    orderOf: ({ startedAt }) => startedAt,
    groups: { status: ({ status }) => status },
    forgottenAt: ({ status }) => (status === "done" ? keptMs : Infinity),
    quota,
    log: {
      events: "test-events",
      first: UNBOUNDED.first,
      beside: ["test-beside"],
      doomed: "test-doomed",
    },
    entriesOf: (runId) => [{ collection: "test-results", key: runId }],
  };
}

/** A run that has begun; of "bob" where its id begins with a capital. */
export function draftRun(runId: string, startedAt = 0): TestRun {
  return { runId, owner: runId < "a" ? "bob" : "ada", startedAt, status: "working" };
}
