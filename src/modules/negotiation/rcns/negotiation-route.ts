/**
 * Answers a pair that is not registered once all four locks are open: a contract is synthesized,
 * and previewed with 461 or run at once. 429 too many evaluations · 464 where nothing can be composed
 * · 262 where the agent's scopes do not cover every step.   AGTP-API §10.1.2, §10.1.3, §10.1.5
 */

import type { TaskQueue } from "../../../base/task-queue.ts";
import type { Approvals } from "../../../dispatch/approvals/approvals.ts";
import type { Attempts } from "../../../dispatch/contracts/attempts.ts";
import type { ContractRoutes } from "../../../dispatch/contracts/contract-routes.ts";
import { changeCall } from "../../../dispatch/handling/call-context.ts";
import type { RcnsConfig } from "../../../dispatch/policy/policies-config.ts";
import { payerOf } from "../../../dispatch/rates/payer.ts";
import type { RateWindow } from "../../../dispatch/rates/rate-window.ts";
import {
  authorizationRequired,
  type Refusal,
  rateLimited,
  schemaViolation,
} from "../../../dispatch/refusals/refusal.ts";
import { refuseContract } from "../../../dispatch/refusals/refuse-contract.ts";
import {
  createRoute,
  type ExchangeView,
  type Route,
  type RouteHandler,
} from "../../../dispatch/routes/route.ts";
import type { Contract } from "../../../endpoint/contract.ts";
import type { EndpointDefinition } from "../../../endpoint/endpoint.ts";
import type { SynthesisPlan, Synthesizer } from "../../../endpoint/synthesis-plan.ts";
import type { Call, HandlerResult } from "../../../handlers/handler.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import type { CompiledSchema } from "../../../schema/schema.ts";
import { PROPOSED_SCHEMA_BOUNDS } from "../../../schema/schema-bounds.ts";
import type { ContractRegister } from "../../../state/registers/contract-register.ts";
import { previewContract } from "../contracts/contract-bodies.ts";
import { makeContract } from "../contracts/make-contract.ts";
import type { LateSynthesis } from "../late-synthesis.ts";
import { readProposedSchema } from "../propose/proposed-schema.ts";
import { inputSchemaOf, proposalOfRequest, readQuery, semanticOf } from "./unregistered-request.ts";

interface NegotiationOptions {
  readonly prepared: LateSynthesis;
  readonly register: Pick<ContractRegister, "add" | "now">;
  readonly routes: Pick<ContractRoutes, "routeOf">;
  readonly attempts: Attempts;
  readonly rate: RateWindow;
  /** The queue of what takes longer than others want to wait. */
  readonly work: TaskQueue;
  readonly rcns: RcnsConfig;
  /** Why a pair may never be an endpoint: it is the protocol's own. */
  reservation(method: string, path: string): string | undefined;
  /** Hears of a contract that is run at once, which is agreeing to it. */
  accepted(contract: Contract, call: Call, exchange: ExchangeView): Promise<unknown>;
  /** Tells whether somebody has to approve a call first. */
  needsApproval(route: Route, asked: Parameters<Approvals["isNeeded"]>[1]): boolean;
  /** Accepts any object. */
  readonly anyInput: CompiledSchema;
  /** Hears of a fault of the synthesis; the caller learns only that there was one. */
  onFault(error: unknown): void;
}

type Answer = HandlerResult | Refusal;

/** As many as a proposal may have. */
const MAX_INPUTS = PROPOSED_SCHEMA_BOUNDS.maxProperties;

/** The route that negotiates; the gate of negotiation puts it in place of what is missing. */
export function negotiationRoute(options: NegotiationOptions): Route {
  const handler: RouteHandler = (call, exchange) => negotiate(options, call, exchange);
  return createRoute(NEGOTIATION, handler, { tier: "A", input: options.anyInput });
}

/** It has no pair of its own: that of the request is what is negotiated. */
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
  const { register, rcns, rate } = options;
  const { method, path, caller } = exchange;
  const { agentId = "" } = caller;
  // Here and not at the gate: what is replayed under an Idempotency-Key is not evaluated.
  const wait = rate.take(agentId, rcns.rateLimitPerMinute);
  if (wait !== undefined) return rateLimited("rcns", wait);
  const { synthesizer } = await options.prepared();
  const owner = payerOf(exchange);
  if (!options.work.hasRoom(owner)) return rateLimited("work", 1);
  const parts = { ...options, synthesizer };
  const planned = await options.work.run(() => planFor(parts, call, exchange), owner);
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
        ...semanticOf(`Do what ${pair} asks for.`),
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
  if (!mayRun || options.needsApproval(route, { caller, path, input })) {
    await register.add(offered);
    return previewContract(offered);
  }
  const contract: Contract = { ...offered, state: "active" };
  await register.add(contract);
  await options.accepted(contract, call, exchange);
  return route.handler(changeCall(call, { input }), exchange);
}

/**
 * A recipe says what its operator wants done for the pair. What is only found to fit is not done
 * before its agent has seen it, where it would change anything.   AGTP-API §10.1.3
 */
function mayRunUnseen({ kind, impact }: SynthesisPlan): boolean {
  return kind === "recipe" || impact === "informational";
}

type Planned =
  | {
      readonly kind: "planned";
      readonly plan: SynthesisPlan;
      readonly inputSchema: JsonSchema;
      /** The input that was sent, as this schema reads it. */
      readonly input: Call["input"];
    }
  | Refusal;

function planFor(
  {
    synthesizer,
    attempts,
    reservation,
    onFault,
  }: NegotiationOptions & { readonly synthesizer: Synthesizer },
  call: Call,
  exchange: ExchangeView,
): Planned {
  const { method, path, caller } = exchange;
  const impossible = (explanation: string): Refusal =>
    refuseContract(exchange, attempts, "composition-impossible", explanation);
  const reserved = reservation(method, path);
  if (reserved !== undefined) return impossible(reserved);
  const sent = Object.keys(call.input).length;
  if (sent > MAX_INPUTS) {
    return impossible(`the request has ${sent} parameters, expected at most ${MAX_INPUTS}`);
  }
  try {
    const outcome = synthesizer.plan(proposalOfRequest(call, exchange), caller.authority);
    if (outcome.kind !== "failure") {
      if (!isWhatWasAsked(outcome, method)) {
        return impossible(`no recipe answers ${method} ${path}, and no other ${method} would do`);
      }
      const read = readProposedSchema(inputSchemaOf(call.input, outcome), "input_schema");
      if ("fault" in read) return impossible(`the parameters' schema ${read.fault.message}`);
      const inputSchema = read.schema.schema;
      const input = readQuery(call, inputSchema);
      // As the gate would, had the contract been there before.
      const violations = read.schema.check(input);
      if (violations !== undefined) return schemaViolation(violations);
      return { kind: "planned", plan: outcome, inputSchema, input };
    }
    if (outcome.reason === "scope-required") {
      const { scopes } = outcome.missing;
      return authorizationRequired("scope-required", outcome.explanation, {
        ...(scopes[0] === undefined ? {} : { scope: scopes[0] }),
        details: { missing_scopes: scopes },
      });
    }
    return impossible(outcome.explanation);
  } catch (error) {
    onFault(error);
    return refuseContract(exchange, attempts, "synthesis-error", "the synthesis failed");
  }
}

/**
 * Without a word on outputs, only what an operator wrote down for the pair, or the same method
 * elsewhere, can be taken for what was asked.
 */
function isWhatWasAsked({ kind, recipe }: SynthesisPlan, method: string): boolean {
  if (kind === "recipe") return true;
  return kind === "passthrough" && recipe.steps[0]?.method === method;
}
