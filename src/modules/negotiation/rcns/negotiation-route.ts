/**
 * RCNS, the Runtime Contract Negotiation Substrate: answers unregistered pairs once all four locks are open. It
 * synthesizes a contract and previews it with 461, or runs it at once. 429 too many evaluations · 464 no composition ·
 * 262 the agent's scopes do not cover every step.   AGTP-API §10.1.2, §10.1.3, §10.1.5
 */

import { FLOOR_METHODS } from "../../../catalog/catalog.ts";
import type { ContractRoutes } from "../../../dispatch/contracts/contract-routes.ts";
import { CallContext } from "../../../dispatch/handling/call-context.ts";
import { payerOf } from "../../../dispatch/rates/rates.ts";
import { type Refusal, rateLimited, schemaViolation } from "../../../dispatch/refusals/refusal.ts";
import { LOCKS_OPEN, refuseContract } from "../../../dispatch/refusals/refuse-contract.ts";
import {
  createRoute,
  type ExchangeView,
  type Route,
  type RouteHandler,
} from "../../../dispatch/routes/route.ts";
import type { Contract } from "../../../endpoint/contract.ts";
import type { EndpointDefinition } from "../../../endpoint/endpoint.ts";
import { mergeInput } from "../../../endpoint/input.ts";
import { inputShape } from "../../../endpoint/input-shape.ts";
import { checkReservation } from "../../../endpoint/method-rule.ts";
import { semanticOf } from "../../../endpoint/semantic-block.ts";
import type { Proposal, SynthesisPlan, Synthesizer } from "../../../endpoint/synthesis-plan.ts";
import type { Call, HandlerResult } from "../../../handlers/handler.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { compileOwn } from "../../../schema/schema.ts";
import { PROPOSED_SCHEMA_BOUNDS } from "../../../schema/schema-bounds.ts";
import { type SchemaType, schemaTypeOf } from "../../../schema/schema-vocabulary.ts";
import type { NegotiationContext } from "../config.ts";
import { keepContract, makeContract, previewContract } from "../grant-contract.ts";
import { synthesisFaults } from "../late-synthesis.ts";
import { scopeRequired } from "../propose/evaluate-proposal.ts";
import { readProposedSchema } from "../propose/proposed-schema.ts";
import type { NegotiationParts } from "../state.ts";

interface NegotiationOptions extends NegotiationParts {
  readonly routes: Pick<ContractRoutes, "routeOf">;
  /** Records the acceptance that running a contract at once implies. */
  accepted(contract: Contract, call: Call, exchange: ExchangeView): Promise<unknown>;
}

type Answer = HandlerResult | Refusal;

/** Creates the negotiating route, which the negotiation gate substitutes for a missing one. */
export function negotiationRoute(options: NegotiationOptions): Route {
  const handler: RouteHandler = (call, exchange) => negotiate(options, call, exchange);
  const input = compileOwn(NEGOTIATION.inputSchema);
  return createRoute(NEGOTIATION, handler, { tier: "A", input });
}

/** The negotiating endpoint; it has no pair, since it negotiates the request's. */
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
  // Counted here rather than at the gate: an idempotent replay is not an evaluation.
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
        // The capability is that of the method.   AGTP-API §7.1
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
 * A recipe states the operator's intent for the pair. Any other plan that could change something is first shown to its
 * agent.   AGTP-API §10.1.3
 */
function mayRunUnseen({ kind, impact }: SynthesisPlan): boolean {
  return kind === "recipe" || impact === "informational";
}

const MAX_INPUTS = PROPOSED_SCHEMA_BOUNDS.maxProperties;

/** The plan of a request, or its refusal. */
type PlannedRequest =
  | {
      readonly kind: "planned";
      readonly plan: SynthesisPlan;
      readonly inputSchema: JsonSchema;
      /** The request's input, read by this schema. */
      readonly input: Call["input"];
    }
  | Refusal;

/**
 * Plans a request for an unregistered pair as a proposal: its input is the proposed input, and its expected output is
 * unknown.   AGTP-API §10.1.2
 */
function synthesizeRequest(
  synthesizer: Synthesizer,
  context: NegotiationContext,
  call: Call,
  exchange: ExchangeView,
): PlannedRequest {
  const { method, path, caller } = exchange;
  const { attempts } = context;
  const impossible = (explanation: string): Refusal =>
    refuseContract(exchange, attempts, "composition-impossible", explanation, LOCKS_OPEN);
  const reserved = checkReservation(method, path, FLOOR_METHODS);
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
      // Validates as the gate would for an existing contract.
      const violations = read.schema.check(input);
      if (violations !== undefined) return schemaViolation(violations);
      return { kind: "planned", plan: outcome, inputSchema, input };
    }
    if (outcome.reason === "scope-required") return scopeRequired(outcome.missing.scopes);
    return impossible(outcome.explanation);
  } catch (error) {
    // The caller only learns that there was a fault.
    synthesisFaults(context)(error);
    const explanation = "the synthesis failed";
    return refuseContract(exchange, attempts, "synthesis-error", explanation, LOCKS_OPEN);
  }
}

/** Without a wanted output, only a recipe for the pair, or an endpoint of the same method, is surely what was asked. */
function isWhatWasAsked({ kind, recipe }: SynthesisPlan, method: string): boolean {
  if (kind === "recipe") return true;
  return kind === "passthrough" && recipe.steps[0]?.method === method;
}

function proposalOfRequest({ input, query }: Call, { method, path }: ExchangeView): Proposal {
  const names = Object.keys(input);
  const properties = names.map((name) => [
    name,
    // Only the type of a value is known.
    isFromQuery(name, input, query) ? TEXT_OF_A_QUERY : { type: schemaTypeOf(input[name]) },
  ]);
  return {
    method,
    path,
    description: "",
    // No bound on the impact: recipes are the operator's, and a preview states it.
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

/** A query text may be read as any scalar that the plan takes.   AGTP-API §5.5 */
const TEXT_OF_A_QUERY: JsonSchema = { type: ["string", "integer", "number", "boolean"] };

function isFromQuery(name: string, input: Call["input"], query: Call["query"]): boolean {
  return Object.hasOwn(query, name) && input[name] === query[name];
}

/** Reads texts of the query as the types that the schema declares. */
function readQuery({ input, query }: Call, schema: JsonSchema): Call["input"] {
  const texts = Object.entries(query).filter(([name]) => isFromQuery(name, input, query));
  if (texts.length === 0) return input;
  const others = Object.entries(input).filter(([name]) => !isFromQuery(name, input, query));
  return mergeInput(inputShape(schema), Object.fromEntries(others), new Map(texts), undefined);
}

/** A closed schema of the sent inputs and the plan's further ones, with the types of the steps. */
function inputSchemaOf(
  input: Readonly<Record<string, unknown>>,
  { recipe, neededInputs, inputTypes }: SynthesisPlan,
): JsonSchema {
  const taken = recipe.steps.flatMap(({ parameters }) =>
    Object.values(parameters).flatMap((source) => (source.kind === "proposal" ? source.value : [])),
  );
  const names = [...new Set([...Object.keys(input), ...taken])];
  return {
    type: "object",
    properties: Object.fromEntries(
      names.map((name) => [name, Object.hasOwn(inputTypes, name) ? typed(inputTypes[name]) : {}]),
    ),
    required: neededInputs,
    additionalProperties: false,
  };
}

function typed(types: readonly SchemaType[] | undefined): JsonSchema {
  const [type, ...others] = types ?? [];
  if (type === undefined) return {};
  return { type: others.length === 0 ? type : types };
}
