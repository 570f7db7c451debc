/**
 * What answers a pair that is not registered once all four locks are open: a contract is synthesized,
 * and previewed with 461 or run at once. 464 where nothing can be composed · 262 where the agent's
 * scopes do not cover every step.   AGTP-API §10.1.2, §10.1.3
 */
import type { RcnsConfig } from "../config/config.ts";
import type { JsonSchema, SemanticBlock } from "../contract/endpoint.ts";
import { inputShape } from "../contract/input-shape.ts";
import type { CompiledSchema } from "../contract/schema.ts";
import type { Call, HandlerResult } from "../handlers/handler.ts";
import type { Attempts } from "../synthesis/attempts.ts";
import { type Contract, timestamp } from "../synthesis/contract.ts";
import type { ContractRegister } from "../synthesis/contract-register.ts";
import { makeContract } from "../synthesis/make-contract.ts";
import type { Proposal, SynthesisPlan, Synthesizer } from "../synthesis/plan.ts";
import type { ContractRoutes } from "./contract-routes.ts";
import { refuse } from "./gates/08-negotiation.ts";
import { authorizationRequired, type Refusal } from "./refusal.ts";
import type { ExchangeView, Route } from "./route.ts";

export interface NegotiationOptions {
  readonly synthesizer: Synthesizer;
  readonly register: Pick<ContractRegister, "add">;
  readonly routes: Pick<ContractRoutes, "routeOf">;
  readonly attempts: Attempts;
  readonly rcns: RcnsConfig;
  /** Accepts any object. */
  readonly anyInput: CompiledSchema;
  /** Where a fault of the synthesis goes; the caller learns only that there was one. */
  onFault(error: unknown): void;
}

type Answer = HandlerResult | Refusal;

/** The route that negotiates; gate 08 puts it in place of what is missing. */
export function negotiationRoute(options: NegotiationOptions): Route {
  return {
    method: "",
    path: "",
    tier: "A",
    isReading: false,
    definition: {
      file: "",
      method: "",
      path: "",
      description: "Negotiates a contract for a pair that is not registered.",
      semantic: semanticOf("negotiate a contract"),
      inputSchema: { type: "object" },
      outputSchema: {},
      errors: [],
      requiredScopes: [],
      handler: { type: "registered_function", function: "" },
    },
    input: options.anyInput,
    output: undefined,
    shape: inputShape({ type: "object" }),
    errors: new Set(["composition_failed"]),
    warning: undefined,
    endsInTime: false,
    handler: (call, exchange) => negotiate(options, call, exchange),
  };
}

async function negotiate(
  options: NegotiationOptions,
  call: Call,
  exchange: ExchangeView,
): Promise<Answer> {
  const { register, rcns } = options;
  const planned = planFor(options, call, exchange);
  if (planned.kind === "refusal") return planned;
  const { plan } = planned;
  const { method, path, caller } = exchange;
  const pair = `${method} ${path}`;
  const contract = makeContract(
    {
      agentId: caller.agentId ?? "",
      method,
      path,
      description: plan.recipe.description || `${pair}, negotiated at run time.`,
      semantic: plan.recipe.semantic ?? {
        ...semanticOf(`Do what ${pair} asks for.`),
        impact: plan.impact,
        is_idempotent: plan.isIdempotent,
      },
      inputSchema: inputSchemaOf(call.input, plan),
      outputSchema: {},
      requiredScopes: [],
      origin: "rcns-gate",
      state: rcns.mode === "optimistic" ? "active" : "offered",
      sessionId: call.sessionId,
      isPersistent: false,
      lifetimeSeconds: rcns.contractTtlSeconds,
      now: Date.now(),
    },
    plan,
  );
  await register.add(contract);
  return rcns.mode === "optimistic"
    ? runAtOnce(options, contract, call, exchange)
    : preview(contract);
}

type Planned = { readonly kind: "planned"; readonly plan: SynthesisPlan } | Refusal;

function planFor(
  { synthesizer, attempts, onFault }: NegotiationOptions,
  call: Call,
  exchange: ExchangeView,
): Planned {
  const { method, path, caller } = exchange;
  try {
    const outcome = synthesizer.plan(proposalOf(call, exchange), caller.authority);
    if (outcome.kind !== "failure") {
      if (isWhatWasAsked(outcome, method)) return { kind: "planned", plan: outcome };
      const explanation = `no recipe answers ${method} ${path}, and no other ${method} would do`;
      return refuse(exchange, attempts, "composition-impossible", explanation);
    }
    if (outcome.reason === "scope-required") {
      const { scopes } = outcome.missing;
      return authorizationRequired("scope-required", outcome.explanation, {
        ...(scopes[0] === undefined ? {} : { scope: scopes[0] }),
        details: { missing_scopes: scopes },
      });
    }
    return refuse(exchange, attempts, "composition-impossible", outcome.explanation);
  } catch (error) {
    onFault(error);
    return refuse(exchange, attempts, "synthesis-error", "the synthesis failed");
  }
}

/** The request as a proposal: it shows what it sends, and does not say what it expects. */
function proposalOf({ input }: Call, { method, path }: ExchangeView): Proposal {
  const names = Object.keys(input);
  const properties = names.map((name) => [name, schemaOf(input[name])]);
  return {
    method,
    path,
    description: "",
    // The request sets no bound: the operator wrote the recipe, and the preview tells its impact.
    semantic: { ...semanticOf(`Do what ${method} ${path} asks for.`), impact: "irreversible" },
    inputSchema: {
      type: "object",
      properties: Object.fromEntries(properties),
      required: names,
      additionalProperties: false,
    },
    outputSchema: {},
  };
}

/** Values have a type, and no more is known of them. */
function schemaOf(value: unknown): JsonSchema {
  if (value === null) return { type: "null" };
  if (Array.isArray(value)) return { type: "array" };
  if (typeof value === "number") return { type: Number.isInteger(value) ? "integer" : "number" };
  return { type: typeof value };
}

/**
 * Without a word on outputs, only what an operator wrote down for the pair, or the same method
 * elsewhere, can be taken for what was asked.
 */
function isWhatWasAsked({ kind, recipe }: SynthesisPlan, method: string): boolean {
  if (kind === "recipe") return true;
  return kind === "passthrough" && recipe.steps[0]?.method === method;
}

/** Closed: what was sent, and what the plan would take beside it. */
function inputSchemaOf(input: Readonly<Record<string, unknown>>, plan: SynthesisPlan): JsonSchema {
  const taken = plan.recipe.steps.flatMap(({ parameters }) =>
    Object.values(parameters).flatMap((source) => (source.kind === "proposal" ? source.value : [])),
  );
  const names = [...new Set([...Object.keys(input), ...taken])];
  return {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, {}])),
    additionalProperties: false,
  };
}

/** 461: the caller sees what it would agree to.   AGTP-API §10.1.3 */
function preview(contract: Contract): HandlerResult {
  const { synthesisId, endpoint, lineage, contractHash, expiresAt, plan } = contract;
  const { method, path } = endpoint;
  const steps = plan.steps.map((step) => `${step.method} ${step.path}`);
  return {
    status: 461,
    body: {
      status: 461,
      synthesis_id: synthesisId,
      method,
      path,
      endpoint,
      recipe_lineage: lineage ?? null,
      contract_hash: contractHash,
      expires_at: timestamp(expiresAt),
      proposed_synthesis_id: synthesisId,
      contract: {
        method,
        path,
        plan_summary: steps,
        recipe_name: lineage?.recipe_name ?? null,
        recipe_version: lineage?.recipe_version ?? null,
      },
    },
  };
}

/** Optimistic delivery: the response says which contract it was served under. */
async function runAtOnce(
  { routes }: NegotiationOptions,
  contract: Contract,
  call: Call,
  exchange: ExchangeView,
): Promise<Answer> {
  const route = routes.routeOf(contract);
  exchange.route = route;
  const result = await route.handler(call, exchange);
  if ("error" in result) return result;
  const headers = { ...result.headers, "Contract-Synthesized": contract.synthesisId };
  return { ...result, headers };
}

function semanticOf(intent: string): SemanticBlock {
  return {
    intent,
    actor: "agent",
    outcome: intent,
    capability: "domain_spanning",
    confidence: 0.5,
    impact: "reversible",
    is_idempotent: false,
  };
}
