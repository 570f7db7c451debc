/**
 * The methods on contracts beside calling and releasing them: REVOKE by owner or
 * operator, the operator's sweep of stale ones, and INSPECT of a contract or of an attempt.
 * 400 malformed · 403 somebody else's · 404 no such contract or attempt.   AGTP-API §10.1.4
 */
import { inGroups } from "../../base/groups.ts";
import type { JsonRecord } from "../../base/json-value.ts";
import type { Paced } from "../../base/paced.ts";
import { INSPECT_ALL, seesAll } from "../../dispatch/caller/caller.ts";
import {
  actorOf,
  contractOf,
  createContractRecorder,
  textOf,
} from "../../dispatch/contracts/contract-events.ts";
import { endContract } from "../../dispatch/contracts/end-contracts.ts";
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { Taking } from "../../dispatch/module/shared-sections.ts";
import { payerOf } from "../../dispatch/rates/rates.ts";
import {
  badRequest,
  forbidden,
  notFound,
  type Refusal,
  rateLimited,
} from "../../dispatch/refusals/refusal.ts";
import { floorResult } from "../../dispatch/routes/floor.ts";
import type { ExchangeView } from "../../dispatch/routes/route.ts";
import { type Contract, contractDetails } from "../../endpoint/contract.ts";
import type { Recipe } from "../../endpoint/recipe.ts";
import type { Call, HandlerSuccess } from "../../handlers/handler.ts";

export type FloorContext = ModuleContext<Taking<"agents" | "policies">>;

type Answer = HandlerSuccess | Refusal;

/** REVOKE `{target: "contract", synthesis_id}`: effective from the next step on. */
export async function revokeContract(
  context: FloorContext,
  call: Call,
  exchange: ExchangeView,
): Promise<Answer> {
  const contract = visibleContract(context, call, exchange);
  if ("kind" in contract) return contract;
  const parts = { register: context.state.contracts, record: createContractRecorder(context) };
  const end = { contract, state: "revoked", reason: textOf(call, "reason") } as const;
  return endContract(parts, end, { call, exchange });
}

/** INSPECT `{target: "contract", synthesis_id}`; ended contracts can still be inspected. */
export function inspectContract(context: FloorContext, call: Call, exchange: ExchangeView): Answer {
  const contract = visibleContract(context, call, exchange);
  if ("kind" in contract) return contract;
  return floorResult(call, { target: "contract", ...contractDetails(contract) });
}

/** INSPECT `{target: "rcns-attempt", attempt_id}`. */
export function inspectAttempt(
  { attempts }: FloorContext,
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
  if (!isOwn && !seesAll(caller)) {
    return forbidden("contract-forbidden", `this needs ${INSPECT_ALL}, or to be who tried`);
  }
  return floorResult(call, { target: "rcns-attempt", ...attempt });
}

/** Finds the contract that a call names, or the refusal if there is none that the caller may see. */
function visibleContract(
  { state }: FloorContext,
  call: Call,
  exchange: ExchangeView,
): Contract | Refusal {
  const contract = contractOf({ register: state.contracts }, call);
  if ("kind" in contract || mayLookAt(contract, exchange)) return contract;
  const message = `this needs ${INSPECT_ALL}, or to be the contract's agent`;
  return forbidden("contract-forbidden", message);
}

/** True for the contract's agent, for holders of the scope that sees all, and for people at the console. */
function mayLookAt({ agentId }: Contract, { caller, peer }: ExchangeView): boolean {
  return agentId === caller.agentId || seesAll(caller) || peer.operator !== undefined;
}

/** REVOKE `{target: "stale-contracts", mode?}`: contracts whose recipe has another version by now. */
export async function sweepContracts(
  context: FloorContext,
  call: Call,
  exchange: ExchangeView,
): Promise<Answer> {
  const { config, state, recipes, work } = context;
  if (!seesAll(exchange.caller)) {
    return forbidden("operator-scope-required", `the sweep needs the scope ${INSPECT_ALL}`, {
      scope: INSPECT_ALL,
    });
  }
  const { mode = config.policies.rcns.onPolicyChange } = call.input;
  if (mode !== "grandfather" && mode !== "invalidate") {
    const message = 'mode must be "grandfather" or "invalidate"';
    return badRequest("invalid-sweep-mode", message, { parameter: "mode" });
  }
  const owner = payerOf(exchange);
  if (!work.hasRoom(owner)) return rateLimited("work", 1);
  const sweeping = sweepingOver(state.contracts.eachOpen(), recipes, mode);
  const { entries, staleCount, stale } = await work.pace(sweeping, owner, call.signal);
  const record = createContractRecorder(context);
  const actor = actorOf(call, exchange);
  const auditIds = await inGroups(stale, async (group) => {
    // A call that runs under one of them takes no further step.
    const evicted = await state.contracts.evict(group.map(({ synthesisId }) => synthesisId));
    const events = group
      .filter(({ synthesisId }) => evicted.has(synthesisId))
      .map((contract) => ({ type: "rcns_release", contract, ...STALE, ...actor }) as const);
    return events.length === 0 ? [] : record(events, { call, exchange });
  });
  return floorResult(call, {
    mode,
    swept_at: new Date().toISOString(),
    examined_count: entries.length,
    stale_count: staleCount,
    contracts: entries,
    audit_ids: auditIds,
  });
}

const STALE = { reason: "policy-change-invalidation" };

type Disposition = "unchanged" | "grandfathered" | "evicted";

type Mode = "grandfather" | "invalidate";

interface Sweep {
  /** One entry a contract, as the response lists it. */
  readonly entries: readonly JsonRecord[];
  readonly staleCount: number;
  /** Contracts to evict. */
  readonly stale: readonly Contract[];
}

/** Compares the contracts with their recipes, one a step. */
function* sweepingOver(
  contracts: Iterable<Contract>,
  recipes: ReadonlyMap<string, Recipe>,
  mode: Mode,
): Paced<Sweep> {
  const entries: JsonRecord[] = [];
  const stale: Contract[] = [];
  let staleCount = 0;
  for (const contract of contracts) {
    const disposition = dispositionOf(contract, recipes, mode);
    entries.push(sweepEntry(contract, recipes, disposition));
    if (disposition !== "unchanged") staleCount += 1;
    if (disposition === "evicted") stale.push(contract);
    yield;
  }
  return { entries, staleCount, stale };
}

/** A contract without a lineage has no version to compare. */
function dispositionOf(
  { lineage }: Contract,
  recipes: ReadonlyMap<string, Recipe>,
  mode: Mode,
): Disposition {
  if (lineage === undefined) return "unchanged";
  if (recipes.get(lineage.recipe_name)?.version === lineage.recipe_version) return "unchanged";
  return mode === "grandfather" ? "grandfathered" : "evicted";
}

function sweepEntry(
  { synthesisId, agentId, endpoint, lineage }: Contract,
  recipes: ReadonlyMap<string, Recipe>,
  disposition: Disposition,
): JsonRecord {
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
