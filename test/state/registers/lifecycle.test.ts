import { describe, expect, it } from "vitest";
import { FLOOR_GROUPS } from "../../../src/catalog/catalog.ts";
import type { AgentStatus } from "../../../src/identity/agent-document.ts";
import { transition } from "../../../src/state/registers/lifecycle.ts";

const ISSUED = "agent-genesis-issued";
const REVOKED = "agent-genesis-revoked";
const SUSPENDED = "agent-lifecycle-suspended";
const REINSTATED = "agent-lifecycle-reinstated";
const DEPRECATED = "agent-lifecycle-deprecated";

/** Status, then what each of the five comes to, in the order of the draft. */
const TABLE: readonly (readonly [AgentStatus, ...(readonly string[])])[] = [
  ["active", "noop", SUSPENDED, "noop", REVOKED, DEPRECATED],
  ["suspended", REINSTATED, "noop", REINSTATED, REVOKED, "conflict"],
  ["deprecated", REINSTATED, "noop", REINSTATED, REVOKED, "noop"],
  ["retired", "invalid", "noop", "invalid", "noop", "invalid"],
];
const CELLS = TABLE.flatMap(([status, ...cells]) =>
  FLOOR_GROUPS.lifecycle.map((method, index) => [method, status, cells[index] ?? ""] as const),
);
const TARGETS: Readonly<Record<string, AgentStatus>> = {
  [ISSUED]: "active",
  [REVOKED]: "retired",
  [SUSPENDED]: "suspended",
  [REINSTATED]: "active",
  [DEPRECATED]: "deprecated",
};

// AGTP "Lifecycle Methods"
describe("transition", () => {
  it.each(CELLS)("answers %s of an agent that is %s with %s", (method, status, expected) => {
    const decided = transition(method, status, true);
    const eventType = decided.kind === "change" ? decided.eventType : decided.kind;
    expect(eventType).toBe(expected);
    if (decided.kind === "change") expect(decided.status).toBe(TARGETS[expected]);
  });

  it.each(["suspended", "deprecated"] as const)(
    "has a first ACTIVATE issue what is %s",
    (status) => {
      expect(transition("ACTIVATE", status, false)).toEqual({
        kind: "change",
        status: "active",
        eventType: ISSUED,
      });
      expect(transition("REINSTATE", status, false)).toMatchObject({ eventType: REINSTATED });
    },
  );

  it.each(FLOOR_GROUPS.lifecycle)("lets no %s bring a retired agent back", (method) => {
    for (const hasHistory of [true, false]) {
      expect(transition(method, "retired", hasHistory).kind).not.toBe("change");
    }
  });
});
