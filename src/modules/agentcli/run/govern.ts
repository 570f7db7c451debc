/**
 * The checks before a task runs, in order: enforceable contract, caller's trust, approval, proof, identity, trust,
 * authorization. The first refusal ends them, before anything was run.   agentcli execution identity "Pipeline"
 */

import { resolve } from "node:path";
import { isWithin, realPath } from "../../../base/paths.ts";
import { RUN_ERRORS, type RunError } from "../compile/endpoints.ts";
import { findUnenforceable, type MergedContract } from "../compile/merge.ts";
import { type Failure, isFailure } from "../failure.ts";
import { authorize, type Decision, judgeTrust } from "../governance/authorization.ts";
import { type ProofReport, verifyProof } from "../governance/proof.ts";
import { type ResolvedIdentity, resolveTaskIdentity } from "../identity/resolve-identity.ts";
import {
  type Executor,
  type Run,
  type RunRefusal,
  type RunReport,
  refuseRun,
} from "./execution.ts";

export interface GovernedRun {
  readonly kind: "governed";
  readonly cwd: string;
  readonly identity: ResolvedIdentity;
  readonly proof: ProofReport | undefined;
  readonly decision: Decision | undefined;
  readonly warnings: readonly string[];
  /** Uses the approval; false if another run already did. */
  consume(): Promise<boolean>;
}

/** Checks whether a run is permitted. */
export async function govern(
  run: Run,
  executor: Executor,
): Promise<GovernedRun | RunReport | RunRefusal> {
  const { found, call } = run;
  const { plan } = found;
  const { payload } = plan.execution;
  const cwd = "program" in payload ? payload.cwd : null;
  const kept = checkContract(plan.contract, cwd, executor.world.directory);
  if (kept.kind === "broken") return refuseRun(kept.error, kept.message);
  const warnings = [...kept.warnings];
  const callerLevel = executor.trustOf(call.trustTier);
  const callerTrust = callerLevel && judgeTrust(plan.contract, callerLevel);
  if (callerTrust?.kind === "insufficient") {
    return refuseRun("trust_level_insufficient", callerTrust.message);
  }
  if (callerTrust?.kind === "warning") warnings.push(callerTrust.message);
  const approval = await askApproval(run, executor);
  if (approval.kind !== "approved") return approval;
  const proof = await verifyProof(found, executor.world);
  if (isFailure(proof)) return refuseFailure(proof);
  const identity = await resolveTaskIdentity(found, executor.world);
  if (isFailure(identity)) return refuseFailure(identity);
  const delegation = identity.session?.delegation_validation;
  if (delegation?.valid === false) {
    const reason = delegation.reasons.join("; ");
    const message = "the chain of delegation is not valid";
    return { ...refuseRun("identity_delegation_invalid", message), reason };
  }
  const level = identity.session?.trust.effective_level ?? "supervised";
  const trust = judgeTrust(plan.contract, level);
  if (trust.kind === "insufficient") return refuseRun("trust_level_insufficient", trust.message);
  if (trust.kind === "warning") warnings.push(trust.message);
  const { agentId, ownerId, principalId } = call;
  const actor = {
    agent_id: agentId ?? null,
    owner_id: ownerId ?? null,
    principal_id: principalId ?? null,
  };
  const decision = await authorize(found, identity, executor.world, actor);
  if (isFailure(decision)) return refuseFailure(decision);
  const refused = decision && refuseDecision(decision);
  if (refused !== undefined) return refused;
  const { run_as: runAs } = identity.effective.subject;
  if (runAs !== null) {
    // `run_as` is only declared here, not applied.
    warnings.push(
      `identity run_as "${runAs}" is declared; the program runs as the daemon's own user`,
    );
  }
  const { consume } = approval;
  return { kind: "governed", cwd: kept.cwd, identity, proof, decision, warnings, consume };
}

interface Approved {
  readonly kind: "approved";
  consume(): Promise<boolean>;
}

async function askApproval(
  { found, call, isKnown, delegators }: Run,
  { approvals }: Executor,
): Promise<Approved | RunReport | RunRefusal> {
  const { approval, source } = found.plan;
  if (approval.policy === "auto-reject") {
    return refuseRun("approval_auto_rejected", "the manifest rejects every run of this task");
  }
  if (approval.required === 0 || approval.policy === "auto-approve") {
    return { kind: "approved", consume: () => Promise.resolve(true) };
  }
  if (call.agentId === undefined || !isKnown) {
    const message = "the task needs an approval, which only agents that this server knows can get";
    return refuseRun("approval_required", message);
  }
  const answer = await approvals.ask({ agentId: call.agentId, ...delegators }, found);
  switch (answer.kind) {
    case "granted":
      return { kind: "approved", consume: answer.consume };
    case "full":
      return refuseRun("approval_required", "too many approvals are waiting already");
    case "rejected":
      return refuseRun("approval_rejected", answer.message);
    case "pending": {
      const { escalationId, status, deadlineAt } = answer.escalation;
      const path = `/escalations/${escalationId}`;
      const body = {
        ok: false,
        source,
        approval: {
          approval_id: escalationId,
          status,
          task_hash: answer.taskHash,
          expires_at: new Date(deadlineAt).toISOString(),
          approver_scope: approval.approver_scope,
          confirm: { method: "CONFIRM", path },
          poll: { method: "QUERY", path },
        },
        escalation_id: escalationId,
      };
      return { kind: "report", status: 202, body };
    }
  }
}

/** Messages to callers that replace those naming the operator's variables, files or hosts. */
const FOR_CALLERS: Readonly<Partial<Record<RunError, string>>> = {
  authorization_proof_failed: "the authorization proof is missing, or does not hold",
  authorization_error: "the policy engine gave no decision",
  identity_resolution_failed: "the identity that the task acts under cannot be resolved",
};

/** Maps a failure to a declared error of the endpoint, with its code in the details. */
export function refuseFailure({ code, message }: Failure): RunRefusal {
  const isPresentation = code.startsWith("presentation_");
  const known = isPresentation ? "presentation_target_invalid" : code;
  const error = RUN_ERRORS.find((one) => one === known) ?? "identity_resolution_failed";
  return { ...refuseRun(error, FOR_CALLERS[error] ?? message, { code }), reason: message };
}

function refuseDecision({ decision, reason, provider }: Decision): RunRefusal | undefined {
  if (decision === "permit") return undefined;
  const isDenied = decision === "deny";
  const error = isDenied ? "authorization_denied" : "authorization_escalation_required";
  const what = isDenied ? "denies the run" : "requires an escalation";
  return refuseRun(error, `${provider} ${what}${reason === null ? "" : `: ${reason}`}`);
}

type ContractVerdict =
  | { readonly kind: "kept"; readonly cwd: string; readonly warnings: readonly string[] }
  | { readonly kind: "broken"; readonly error: RunError; readonly message: string };

/**
 * Checks a contract's demands on the environment; an unmet one refuses the task. A daemon confines no process, so a
 * strict sandbox, network rules and allowed paths are always refused, while a permissive sandbox needs no confinement.
 * The working directory defaults to the deployment's.   agentcli spec "Contract"
 */
export function checkContract(
  contract: MergedContract,
  cwd: string | null,
  directory: string,
): ContractVerdict {
  const { sandbox, allowed_paths, max_cost_usd } = contract;
  const unkept = findUnenforceable(contract);
  const place = realPath(resolve(directory, cwd ?? "."));
  if (place === undefined) {
    return { kind: "broken", error: "task_not_started", message: "cwd does not exist" };
  }
  if (allowed_paths !== null) {
    const allowed = allowed_paths.map((path) => realPath(resolve(directory, path)));
    if (!allowed.some((root) => root !== undefined && isWithin(root, place))) {
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
