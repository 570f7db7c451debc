/**
 * A request for a pair that is not registered, read as a proposal: what it sends says what it
 * takes, and it does not say what it expects.   AGTP-API §10.1.2
 */

import { FLOOR_METHODS } from "../../../catalog/catalog.ts";
import { type Refusal, schemaViolation } from "../../../dispatch/refusals/refusal.ts";
import { LOCKS_OPEN, refuseContract } from "../../../dispatch/refusals/refuse-contract.ts";
import type { ExchangeView } from "../../../dispatch/routes/route.ts";
import { mergeInput } from "../../../endpoint/input.ts";
import { inputShape } from "../../../endpoint/input-shape.ts";
import { checkReservation } from "../../../endpoint/method-rule.ts";
import { semanticOf } from "../../../endpoint/semantic-block.ts";
import type { Proposal, SynthesisPlan, Synthesizer } from "../../../endpoint/synthesis-plan.ts";
import type { Call } from "../../../handlers/handler.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { PROPOSED_SCHEMA_BOUNDS } from "../../../schema/schema-bounds.ts";
import { type SchemaType, schemaTypeOf } from "../../../schema/schema-vocabulary.ts";
import type { NegotiationContext } from "../config.ts";
import { synthesisFaults } from "../late-synthesis.ts";
import { scopeRequired } from "../propose/evaluate-proposal.ts";
import { readProposedSchema } from "../propose/proposed-schema.ts";

/** The most inputs of a request, and of a proposal. */
const MAX_INPUTS = PROPOSED_SCHEMA_BOUNDS.maxProperties;

/** The plan of a request, or why there is none. */
type PlannedRequest =
  | {
      readonly kind: "planned";
      readonly plan: SynthesisPlan;
      readonly inputSchema: JsonSchema;
      /** The input that was sent, as this schema reads it. */
      readonly input: Call["input"];
    }
  | Refusal;

/**
 * Synthesizes what a request asks for, and reads its input as the plan takes it. 464 where nothing
 * can be composed · 262 where the agent's scopes do not cover every step · 422 an input that the plan
 * would not take.   AGTP-API §10.1.2, §10.1.3
 */
export function synthesizeRequest(
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
      // As the gate would, had the contract been there before.
      const violations = read.schema.check(input);
      if (violations !== undefined) return schemaViolation(violations);
      return { kind: "planned", plan: outcome, inputSchema, input };
    }
    if (outcome.reason === "scope-required") return scopeRequired(outcome.missing.scopes);
    return impossible(outcome.explanation);
  } catch (error) {
    // The caller learns only that there was one.
    synthesisFaults(context)(error);
    const explanation = "the synthesis failed";
    return refuseContract(exchange, attempts, "synthesis-error", explanation, LOCKS_OPEN);
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

function proposalOfRequest({ input, query }: Call, { method, path }: ExchangeView): Proposal {
  const names = Object.keys(input);
  const properties = names.map((name) => [
    name,
    // Values have a type, and no more is known of them.
    isFromQuery(name, input, query) ? TEXT_OF_A_QUERY : { type: schemaTypeOf(input[name]) },
  ]);
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

/** A text may be read as whatever scalar the plan takes.   AGTP-API §5.5 */
const TEXT_OF_A_QUERY: JsonSchema = { type: ["string", "integer", "number", "boolean"] };

function isFromQuery(name: string, input: Call["input"], query: Call["query"]): boolean {
  return Object.hasOwn(query, name) && input[name] === query[name];
}

/** The input, with texts of the query read as what the schema declares. */
function readQuery({ input, query }: Call, schema: JsonSchema): Call["input"] {
  const texts = Object.entries(query).filter(([name]) => isFromQuery(name, input, query));
  if (texts.length === 0) return input;
  const others = Object.entries(input).filter(([name]) => !isFromQuery(name, input, query));
  return mergeInput(inputShape(schema), Object.fromEntries(others), new Map(texts), undefined);
}

/** Closed, and typed as the steps are: what was sent, and what the plan would take beside it. */
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
