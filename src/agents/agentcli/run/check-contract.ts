/**
 * What a contract asks of the place that a task runs in: enforced, or the task is refused. A daemon
 * confines no process, so a sandbox or a network rule is always refused.
 * agentcli spec "Contract"
 */
import { realpathSync } from "node:fs";
import { resolve, sep } from "node:path";
import type { RunError } from "../compile/endpoints.ts";
import type { MergedContract } from "../compile/merge-governance.ts";

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
  const { sandbox, network, allowed_paths, max_cost_usd } = contract;
  if (sandbox !== null && sandbox !== "none") {
    return unenforceable(`sandbox "${sandbox}" cannot be enforced here`);
  }
  if (network !== null && network !== "unrestricted") {
    return unenforceable(`network "${network}" cannot be enforced here`);
  }
  const place = real(resolve(directory, cwd ?? "."));
  if (place === undefined) {
    return { kind: "broken", error: "task_not_started", message: "cwd does not exist" };
  }
  const warnings: string[] = [];
  if (allowed_paths !== null) {
    const allowed = allowed_paths.map((path) => real(resolve(directory, path)));
    if (!allowed.some((root) => root !== undefined && isWithin(place, root))) {
      const message = "cwd is outside contract.allowed_paths";
      return { kind: "broken", error: "contract_violation", message };
    }
    warnings.push("contract.allowed_paths was checked for the working directory only");
  }
  if (max_cost_usd !== null) warnings.push("contract.max_cost_usd is declared, nothing is metered");
  return { kind: "kept", cwd: place, warnings };
}

function unenforceable(message: string): ContractVerdict {
  return { kind: "broken", error: "sandbox_enforcement_unavailable", message };
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
