/**
 * The life of the agents that are hosted here: which change leads where, what each is called in the
 * agent's stream, and what it asks. Changes are decided one after another.
 * AGTP "Agent Lifecycle", AGTP-LOG "Lifecycle Events"
 */
import type { FLOOR_GROUPS } from "../../catalog/catalog.ts";
import type { AgentStatus } from "../../identity/agent-document.ts";

/** One of the five methods that change an agent's state. */
export type LifecycleMethod = (typeof FLOOR_GROUPS)["lifecycle"][number];

/** The result of asking for a change. */
export type Transition =
  | { readonly kind: "change"; readonly status: AgentStatus; readonly eventType: string }
  | { readonly kind: "noop" }
  | { readonly kind: "invalid"; readonly message: string }
  | { readonly kind: "conflict"; readonly message: string };

const NOOP: Transition = { kind: "noop" };

/** Where a method leads an agent of this status; `hasHistory`: its stream has events. */
export function transition(
  method: LifecycleMethod,
  status: AgentStatus,
  hasHistory: boolean,
): Transition {
  switch (method) {
    case "ACTIVATE":
      if (status === "retired") return invalid("a retired agent cannot be activated");
      if (status === "active") return NOOP;
      return change("active", hasHistory ? "agent-lifecycle-reinstated" : "agent-genesis-issued");
    case "DEACTIVATE":
      return status === "active" ? change("suspended", "agent-lifecycle-suspended") : NOOP;
    case "REINSTATE":
      if (status === "retired") return invalid("a retired agent cannot be reinstated");
      return status === "active" ? NOOP : change("active", "agent-lifecycle-reinstated");
    case "REVOKE":
      return status === "retired" ? NOOP : change("retired", "agent-genesis-revoked");
    case "DEPRECATE":
      if (status === "retired") return invalid("a retired agent cannot be deprecated");
      if (status === "suspended") {
        return { kind: "conflict", message: "a suspended agent cannot be deprecated" };
      }
      return status === "deprecated" ? NOOP : change("deprecated", "agent-lifecycle-deprecated");
  }
}

function change(status: AgentStatus, eventType: string): Transition {
  return { kind: "change", status, eventType };
}

function invalid(message: string): Transition {
  return { kind: "invalid", message };
}
