/**
 * What can be done with contracts beside calling them: SUSPEND by their owner, REVOKE by owner or
 * operator, the operator's sweep of stale ones, and INSPECT of a contract or of an attempt.
 * 400 malformed · 403 somebody else's · 404 no such contract or attempt.   AGTP-API §10.1.4
 */
import type { RcnsConfig } from "../config/config.ts";
import type { Caller } from "../dispatch/caller.ts";
import { badRequest, forbidden, notFound, type Refusal } from "../dispatch/refusal.ts";
import type { ExchangeView } from "../dispatch/route.ts";
import type { Call, HandlerSuccess } from "../handlers/handler.ts";
import type { Attempts } from "../synthesis/attempts.ts";
import { type Contract, contractDetails } from "../synthesis/contract.ts";
import type { ContractRegister } from "../synthesis/contract-register.ts";
import type { Recipe } from "../synthesis/recipe.ts";
import { floorResult } from "./floor-result.ts";

/** An event in an agent's lifecycle stream, about one of its contracts. */
export interface ContractEvent {
  readonly type: "rcns_release" | "rcns_revoke" | "rcns_propose_accepted";
  readonly contract: Contract;
  readonly reason: string | undefined;
  /** Who did it. */
  readonly actor: string | undefined;
}

export interface ContractMethodsOptions {
  readonly register: ContractRegister;
  readonly attempts: Attempts;
  readonly recipes: ReadonlyMap<string, Recipe>;
  readonly rcns: RcnsConfig;
  /** Puts an event into the stream of the contract's agent; answers its Audit-ID. */
  record(event: ContractEvent, call: Call, exchange: ExchangeView): Promise<string>;
}

/** Sees everybody's contracts and attempts. */
export const INSPECT_ALL = "inspect:all";

type Answer = HandlerSuccess | Refusal;

/** SUSPEND `{synthesis_id}`: the owner needs the contract no longer. */
export async function releaseContract(
  options: ContractMethodsOptions,
  call: Call,
  exchange: ExchangeView,
): Promise<Answer> {
  const contract = contractOf(options, call);
  if ("kind" in contract) return contract;
  if (contract.agentId !== exchange.caller.agentId) {
    return forbidden("contract-forbidden", "only its own agent may release a contract");
  }
  const { state, synthesisId } = contract;
  if (state !== "active" && state !== "offered") {
    return floorResult(call, { synthesis_id: synthesisId, status: state, noop: true });
  }
  const reason = textOf(call, "reason") ?? "caller-release";
  await options.register.change(synthesisId, "released", reason);
  const event = { type: "rcns_release", contract, reason, actor: exchange.caller.agentId } as const;
  const auditId = await options.record(event, call, exchange);
  const result = { synthesis_id: synthesisId, status: "released", event_type: "rcns_release" };
  return floorResult(call, { ...result, audit_id: auditId });
}

/** REVOKE `{target: "contract", synthesis_id}`: effective from the next step on. */
export async function revokeContract(
  options: ContractMethodsOptions,
  call: Call,
  exchange: ExchangeView,
): Promise<Answer> {
  const contract = contractOf(options, call);
  if ("kind" in contract) return contract;
  if (!mayLookAt(contract, exchange.caller)) {
    return forbidden(
      "contract-forbidden",
      `this needs ${INSPECT_ALL}, or to be the contract's agent`,
    );
  }
  const { state, synthesisId } = contract;
  if (state !== "active" && state !== "offered") {
    return floorResult(call, { synthesis_id: synthesisId, status: state, noop: true });
  }
  const reason = textOf(call, "reason");
  const actor = textOf(call, "actor") ?? exchange.caller.agentId;
  await options.register.change(synthesisId, "revoked", reason ?? "revoked");
  const event = { type: "rcns_revoke", contract, reason, actor } as const;
  const auditId = await options.record(event, call, exchange);
  const result = { synthesis_id: synthesisId, status: "revoked", event_type: "rcns_revoke" };
  return floorResult(call, { ...result, audit_id: auditId });
}

/** REVOKE `{target: "stale-contracts", mode?}`: what was made from recipes as they no longer are. */
export async function sweepContracts(
  options: ContractMethodsOptions,
  call: Call,
  exchange: ExchangeView,
): Promise<Answer> {
  const { register, rcns, recipes } = options;
  if (!exchange.caller.authority.covers(INSPECT_ALL)) {
    return forbidden("operator-scope-required", `the sweep needs the scope ${INSPECT_ALL}`, {
      scope: INSPECT_ALL,
    });
  }
  const { mode = rcns.onPolicyChange } = call.input;
  if (mode !== "grandfather" && mode !== "invalidate") {
    const message = 'mode must be "grandfather" or "invalidate"';
    return badRequest("invalid-sweep-mode", message, { parameter: "mode" });
  }
  const entries: Record<string, unknown>[] = [];
  const auditIds: string[] = [];
  for (const contract of register.open()) {
    const disposition = dispositionOf(contract, recipes, mode);
    if (disposition === "evicted") {
      auditIds.push(await evict(options, contract, call, exchange));
    }
    entries.push(sweepEntry(contract, recipes, disposition));
  }
  return floorResult(call, {
    mode,
    swept_at: new Date().toISOString(),
    examined_count: entries.length,
    stale_count: entries.filter(({ disposition }) => disposition !== "unchanged").length,
    contracts: entries,
    audit_ids: auditIds,
  });
}

type Disposition = "unchanged" | "grandfathered" | "evicted";

/** A contract without a lineage has no version to compare. */
function dispositionOf(
  { lineage }: Contract,
  recipes: ReadonlyMap<string, Recipe>,
  mode: "grandfather" | "invalidate",
): Disposition {
  if (lineage === undefined) return "unchanged";
  if (recipes.get(lineage.recipe_name)?.version === lineage.recipe_version) return "unchanged";
  return mode === "grandfather" ? "grandfathered" : "evicted";
}

async function evict(
  options: ContractMethodsOptions,
  contract: Contract,
  call: Call,
  exchange: ExchangeView,
): Promise<string> {
  await options.register.evict(contract.synthesisId);
  const actor = textOf(call, "actor") ?? exchange.caller.agentId;
  const reason = "policy-change-invalidation";
  return options.record({ type: "rcns_release", contract, reason, actor }, call, exchange);
}

function sweepEntry(
  { synthesisId, agentId, endpoint, lineage }: Contract,
  recipes: ReadonlyMap<string, Recipe>,
  disposition: Disposition,
): Record<string, unknown> {
  const current = lineage === undefined ? null : recipes.get(lineage.recipe_name)?.version;
  return {
    synthesis_id: synthesisId,
    originating_agent_id: agentId,
    method: endpoint.method,
    path: endpoint.path,
    recipe_name: lineage?.recipe_name ?? null,
    captured_version: lineage?.recipe_version ?? null,
    current_version: current ?? null,
    disposition,
    action: disposition,
  };
}

/** INSPECT `{target: "contract", synthesis_id}`; what is over can still be looked at. */
export function inspectContract(
  options: ContractMethodsOptions,
  call: Call,
  { caller }: ExchangeView,
): Answer {
  const contract = contractOf(options, call);
  if ("kind" in contract) return contract;
  if (!mayLookAt(contract, caller)) {
    return forbidden(
      "contract-forbidden",
      `this needs ${INSPECT_ALL}, or to be the contract's agent`,
    );
  }
  return floorResult(call, { target: "contract", ...contractDetails(contract) });
}

/** INSPECT `{target: "rcns-attempt", attempt_id}`. */
export function inspectAttempt(
  { attempts }: ContractMethodsOptions,
  call: Call,
  { caller }: ExchangeView,
): Answer {
  const attemptId = textOf(call, "attempt_id");
  if (attemptId === undefined) {
    const message = "attempt_id is required by this target";
    return badRequest("missing-attempt-id", message, { parameter: "attempt_id" });
  }
  const attempt = attempts.find(attemptId);
  if (attempt === undefined) return notFound("record-not-found", "no attempt has this id");
  const isOwn = attempt.agent_id !== "" && attempt.agent_id === caller.agentId;
  if (!isOwn && !caller.authority.covers(INSPECT_ALL)) {
    return forbidden("contract-forbidden", `this needs ${INSPECT_ALL}, or to be who tried`);
  }
  return floorResult(call, { target: "rcns-attempt", ...attempt });
}

function mayLookAt({ agentId }: Contract, { agentId: asking, authority }: Caller): boolean {
  return agentId === asking || authority.covers(INSPECT_ALL);
}

/** The contract that a call names, or what to answer instead. */
function contractOf({ register }: ContractMethodsOptions, call: Call): Contract | Refusal {
  const synthesisId = textOf(call, "synthesis_id");
  if (synthesisId === undefined) {
    const message = "synthesis_id is required";
    return badRequest("missing-synthesis-id", message, { parameter: "synthesis_id" });
  }
  const contract = register.find(synthesisId);
  return contract ?? notFound("contract-not-found", "no contract with this synthesis_id");
}

function textOf({ input }: Call, name: string): string | undefined {
  const value = input[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}
