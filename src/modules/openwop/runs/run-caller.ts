/** The callers that ask about runs, and which runs are there for them.   OpenWOP "auth" */
import type { RunOwner } from "../agent-executor.ts";
import type { RunEntry } from "./run-entry.ts";

/** A caller that asks about runs. */
export interface RunCaller {
  readonly owner: RunOwner;
  /** `own`: what it started itself. `tenant`: what its tenant did. `all`: everything. */
  readonly sees: "own" | "tenant" | "all";
}

/** Tells whether a run is there for a caller. */
export function isVisible(entry: RunEntry, { owner, sees }: RunCaller): boolean {
  if (sees === "all") return true;
  if (entry.tenant !== owner.tenant) return false;
  return sees === "tenant" || entry.principal === owner.principal;
}
