/**
 * The demands of a contract on the place that a task runs in: met, or the task is refused. A daemon
 * confines no process, so a strict sandbox, a rule for the network and paths that a program is held to
 * are always refused; a permissive sandbox asks for no confinement.   agentcli spec "Contract"
 */
import { realpathSync } from "node:fs";
import { resolve, sep } from "node:path";
import type { RunError } from "../compile/endpoints.ts";
import type { MergedContract } from "../compile/merge-governance.ts";
import { findUnenforceable } from "../compile/unenforceable.ts";

/** The place, or why there is none. */
export type ContractVerdict =
  | { readonly kind: "kept"; readonly cwd: string; readonly warnings: readonly string[] }
  | { readonly kind: "broken"; readonly error: RunError; readonly message: string };

/** Judges a contract; a working directory that is not named is the deployment's. */
export function checkContract(
  contract: MergedContract,
  cwd: string | null,
  directory: string,
): ContractVerdict {
  const { sandbox, allowed_paths, max_cost_usd } = contract;
  const unkept = findUnenforceable(contract);
  const place = real(resolve(directory, cwd ?? "."));
  if (place === undefined) {
    return { kind: "broken", error: "task_not_started", message: "cwd does not exist" };
  }
  if (allowed_paths !== null) {
    const allowed = allowed_paths.map((path) => real(resolve(directory, path)));
    if (!allowed.some((root) => root !== undefined && isWithin(place, root))) {
      const message = "cwd is outside contract.allowed_paths";
      return { kind: "broken", error: "contract_violation", message };
    }
  }
  if (unkept !== undefined) {
    const message = `${unkept} cannot be enforced here`;
    return { kind: "broken", error: "sandbox_enforcement_unavailable", message };
  }
  const warnings: string[] = [];
  if (sandbox === "permissive") {
    warnings.push('contract.sandbox is "permissive": the program is not isolated');
  }
  if (max_cost_usd !== null) warnings.push("contract.max_cost_usd is declared, nothing is metered");
  return { kind: "kept", cwd: place, warnings };
}

/** Links resolved, on both sides of the comparison. */
function real(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

function isWithin(place: string, root: string): boolean {
  return place === root || place.startsWith(root.endsWith(sep) ? root : root + sep);
}
