/**
 * RCNS, the Runtime Contract Negotiation Substrate: answers a pair that is not registered once all four locks are
 * open. A contract is synthesized, and previewed with 461 or run at once. 429 too many evaluations · 464 where nothing can be
 * composed · 262 where the agent's scopes do not cover every step.   AGTP-API §10.1.2, §10.1.3,
 * §10.1.5
 */

import type { ContractRoutes } from "../../../dispatch/contracts/contract-routes.ts";
import { CallContext } from "../../../dispatch/handling/call-context.ts";
import { payerOf } from "../../../dispatch/rates/rates.ts";
import { type Refusal, rateLimited } from "../../../dispatch/refusals/refusal.ts";
import {
  createRoute,
  type ExchangeView,
  type Route,
  type RouteHandler,
} from "../../../dispatch/routes/route.ts";
import type { Contract } from "../../../endpoint/contract.ts";
import type { EndpointDefinition } from "../../../endpoint/endpoint.ts";
import { semanticOf } from "../../../endpoint/semantic-block.ts";
import type { SynthesisPlan } from "../../../endpoint/synthesis-plan.ts";
import type { Call, HandlerResult } from "../../../handlers/handler.ts";
import { compileOwn } from "../../../schema/schema.ts";
import { keepContract, makeContract, previewContract } from "../grant-contract.ts";
import type { NegotiationParts } from "../state.ts";
import { synthesizeRequest } from "./unregistered-request.ts";

interface NegotiationOptions extends NegotiationParts {
  readonly routes: Pick<ContractRoutes, "routeOf">;
  /** Hears of a contract that is run at once, which is agreeing to it. */
  accepted(contract: Contract, call: Call, exchange: ExchangeView): Promise<unknown>;
}

type Answer = HandlerResult | Refusal;

/** The route that negotiates; the gate of negotiation puts it in place of what is missing. */
export function negotiationRoute(options: NegotiationOptions): Route {
  const handler: RouteHandler = (call, exchange) => negotiate(options, call, exchange);
  const input = compileOwn(NEGOTIATION.inputSchema);
  return createRoute(NEGOTIATION, handler, { tier: "A", input });
}

/**
 * The endpoint that negotiates; it has no pair of its own, as that of the request is negotiated.
 */
const NEGOTIATION: EndpointDefinition = {
  ...{ file: "", method: "", path: "" },
  description: "Negotiates a contract for a pair that is not registered.",
  semantic: semanticOf("negotiate a contract"),
  ...{ inputSchema: { type: "object" }, outputSchema: {} },
  ...{ errors: [], requiredScopes: [] },
  handler: { type: "registered_function", function: "" },
};

async function negotiate(
  options: NegotiationOptions,
  call: Call,
  exchange: ExchangeView,
): Promise<Answer> {
  const { context, rate } = options;
  const { work, config, catalog } = context;
  const { rcns } = config.policies;
  const { contracts: register } = context.state;
  const { method, path, caller } = exchange;
  const { agentId = "" } = caller;
  // Here and not at the gate: what is replayed under an Idempotency-Key is not evaluated.
  const wait = rate.take(agentId, rcns.rateLimitPerMinute);
  if (wait !== undefined) return rateLimited("rcns", wait);
  const { synthesizer } = await options.lateSynthesis();
  const owner = payerOf(exchange);
  if (!work.hasRoom(owner)) return rateLimited("work", 1);
  const planned = await work.run(
    () => synthesizeRequest(synthesizer, context, call, exchange),
    owner,
  );
  if (planned.kind === "refusal") return planned;
  const { plan, inputSchema, input } = planned;
  const pair = `${method} ${path}`;
  const offered = makeContract(
    {
      agentId,
      method,
      path,
      description: plan.recipe.description || `${pair}, negotiated at run time.`,
      semantic: plan.recipe.semantic ?? {
        // An endpoint has the capability of its method.   AGTP-API §7.1
        ...semanticOf(`Do what ${pair} asks for.`, catalog.verbs.get(method)?.categories),
        impact: plan.impact,
        is_idempotent: plan.isIdempotent,
      },
      inputSchema,
      outputSchema: {},
      requiredScopes: [],
      origin: "rcns-gate",
      state: "offered",
      sessionId: call.sessionId,
      isPersistent: false,
      lifetimeSeconds: rcns.contractTtlSeconds,
      now: register.now(),
    },
    plan,
  );
  const route = options.routes.routeOf(offered);
  const mayRun = rcns.mode === "optimistic" && mayRunUnseen(plan);
  if (!mayRun || context.deployment().needsApproval(route, { caller, path, input })) {
    const kept = await keepContract(context, offered);
    return "kind" in kept ? kept : previewContract(kept);
  }
  const contract = await keepContract(context, { ...offered, state: "active" });
  if ("kind" in contract) return contract;
  await options.accepted(contract, call, exchange);
  return route.handler(CallContext.changed(call, { input }), exchange);
}

/**
 * A recipe says what its operator wants done for the pair. What is only found to fit is not done
 * before its agent has seen it, where it would change anything.   AGTP-API §10.1.3
 */
function mayRunUnseen({ kind, impact }: SynthesisPlan): boolean {
  return kind === "recipe" || impact === "informational";
}
