/**
 * The lifecycle of hosted agents: the allowed transitions, and their event types in the agent's stream.   AGTP "Agent
 * Lifecycle", AGTP-LOG "Lifecycle Events"
 */
import type { FLOOR_GROUPS } from "../../catalog/catalog.ts";
import type { AgentStatus } from "../../identity/agent-document.ts";

/** One of the five methods that change an agent's state. */
export type LifecycleMethod = (typeof FLOOR_GROUPS)["lifecycle"][number];

/** The outcome of requesting a transition. */
export type Transition =
  | { readonly kind: "change"; readonly status: AgentStatus; readonly eventType: string }
  | { readonly kind: "noop" }
  | { readonly kind: "invalid"; readonly message: string }
  | { readonly kind: "conflict"; readonly message: string };

const NOOP: Transition = { kind: "noop" };

/** Returns the transition of a method from a status; `hasHistory`: the agent's stream has events. */
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
