/**
 * REVOKE of stale contracts: an operator has every contract compared with its recipe as it is now, and
 * those that have drifted reported or evicted. 400 another mode · 403 without the operator's scope.
 * AGTP-API §10.1.4.1
 */
import { INSPECT_ALL, seesAll } from "../../dispatch/caller/caller.ts";
import { actorOf } from "../../dispatch/contracts/named-contract.ts";
import { badRequest, forbidden, type Refusal } from "../../dispatch/refusals/refusal.ts";
import { floorResult } from "../../dispatch/routes/floor-result.ts";
import type { ExchangeView } from "../../dispatch/routes/route.ts";
import type { Contract } from "../../endpoint/contract.ts";
import type { Recipe } from "../../endpoint/recipe.ts";
import type { Call, HandlerSuccess } from "../../handlers/handler.ts";
import type { ContractMethodsOptions } from "./contracts.ts";

/** REVOKE `{target: "stale-contracts", mode?}`: what was made from recipes as they no longer are. */
export async function sweepContracts(
  options: ContractMethodsOptions,
  call: Call,
  exchange: ExchangeView,
): Promise<HandlerSuccess | Refusal> {
  const { register, rcns, recipes } = options;
  if (!seesAll(exchange.caller)) {
    return forbidden("operator-scope-required", `the sweep needs the scope ${INSPECT_ALL}`, {
      scope: INSPECT_ALL,
    });
  }
  const { mode = rcns.onPolicyChange } = call.input;
  if (mode !== "grandfather" && mode !== "invalidate") {
    const message = 'mode must be "grandfather" or "invalidate"';
    return badRequest("invalid-sweep-mode", message, { parameter: "mode" });
  }
  const examined = register
    .open()
    .map((contract) => ({ contract, disposition: dispositionOf(contract, recipes, mode) }));
  const evicted = examined.flatMap(({ contract, disposition }) =>
    disposition === "evicted" ? [contract] : [],
  );
  // At once, whatever is running: no step of theirs is taken after this.
  await register.evict(evicted.map(({ synthesisId }) => synthesisId));
  const actor = actorOf(call, exchange);
  const events = evicted.map(
    (contract) => ({ type: "rcns_release", contract, ...STALE, ...actor }) as const,
  );
  const auditIds = events.length === 0 ? [] : await options.record(events, { call, exchange });
  return floorResult(call, {
    mode,
    swept_at: new Date().toISOString(),
    examined_count: examined.length,
    stale_count: examined.filter(({ disposition }) => disposition !== "unchanged").length,
    contracts: examined.map(({ contract, disposition }) =>
      sweepEntry(contract, recipes, disposition),
    ),
    audit_ids: auditIds,
  });
}

const STALE = { reason: "policy-change-invalidation" };

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
