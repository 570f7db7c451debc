/** Small worlds of endpoints for tests of synthesis, written in words: `"id:uuid"`, `"limit?:integer"`. */
import { atOnce } from "../../src/base/paced.ts";
import type { EndpointDefinition, Impact } from "../../src/endpoint/endpoint.ts";
import type { Recipe } from "../../src/endpoint/recipe.ts";
import type {
  PlanFailure,
  Proposal,
  ScopeCheck,
  SynthesisPlan,
  Synthesizer,
} from "../../src/endpoint/synthesis-plan.ts";
import type { StepReaches } from "../../src/modules/negotiation/synthesis/match-recipe.ts";
import { creatingSynthesizer } from "../../src/modules/negotiation/synthesis/synthesizer.ts";
import type { JsonSchema } from "../../src/schema/json-schema.ts";
import { makeEndpoint } from "./endpoint-definition.ts";

const KINDS: Readonly<Record<string, JsonSchema>> = {
  string: { type: "string" },
  integer: { type: "integer" },
  number: { type: "number" },
  uuid: { type: "string", format: "uuid" },
  object: { type: "object" },
  any: {},
};

/** An object schema: a name with "?" is not required, a kind follows a colon. */
export function objectOf(members: readonly string[], rest: JsonSchema = {}): JsonSchema {
  const parsed = members.map((member) => {
    const [name = "", kind = "string"] = member.split(":");
    const schema = KINDS[kind];
    if (schema === undefined) throw new Error(`"${member}" has no kind that is known`);
    return { name: name.replace("?", ""), isRequired: !name.endsWith("?"), schema };
  });
  return {
    type: "object",
    required: parsed.filter(({ isRequired }) => isRequired).map(({ name }) => name),
    properties: Object.fromEntries(parsed.map(({ name, schema }) => [name, schema])),
    ...rest,
  };
}

/** What a test says of an endpoint. */
export interface EndpointWords extends Partial<EndpointDefinition> {
  readonly takes?: readonly string[];
  readonly gives?: readonly string[];
  readonly impact?: Impact;
  readonly isIdempotent?: boolean;
}

/** `makeStep("QUERY /a", {takes: ["x"], gives: ["y"]})` */
export function makeStep(pair: string, words: EndpointWords = {}): EndpointDefinition {
  const { takes = [], gives = [], impact = "informational", isIdempotent = true, ...rest } = words;
  const [method = "", path = ""] = pair.split(" ");
  const base = makeEndpoint({ type: "registered_function", function: "x" });
  return {
    ...base,
    ...{ method, path, description: `Answers ${pair}.` },
    semantic: {
      ...{ intent: `Ask ${pair}.`, actor: "agent", outcome: "It answers.", confidence: 1 },
      ...{ capability: "retrieval", impact, is_idempotent: isIdempotent },
    },
    inputSchema: objectOf(takes, { additionalProperties: false }),
    outputSchema: objectOf(gives),
    ...rest,
  };
}

/** What a test says of a proposal. */
export interface ProposalWords extends Partial<Proposal> {
  readonly offers?: readonly string[];
  readonly asks?: readonly string[];
  readonly impact?: Impact;
}

/** A proposal for `ASSESS /proposed`, unless said otherwise. */
export function makeProposal(words: ProposalWords = {}): Proposal {
  const { offers = [], asks = [], impact = "informational", ...rest } = words;
  const { semantic } = makeStep("ASSESS /proposed", { impact });
  return {
    ...{ method: "ASSESS", path: "/proposed", description: "" },
    semantic: { ...semantic, intent: "Find out." },
    inputSchema: objectOf(offers),
    outputSchema: objectOf(asks),
    ...rest,
  };
}

/** An agent that holds exactly these scopes. */
export function holding(...scopes: readonly string[]): ScopeCheck {
  return { covers: (scope) => scopes.includes(scope) };
}

/** Reaches by method and path alone; what lies at "/" is the server's. */
function reachesAmong(endpoints: readonly EndpointDefinition[]): StepReaches {
  return ({ method, path }) => {
    if (path === "/") return [{ kind: "server", impact: "informational" }];
    return endpoints
      .filter((endpoint) => endpoint.method === method && endpoint.path === path)
      .map((endpoint) => ({ kind: "endpoint", endpoint }));
  };
}

/** What a test says of a synthesizer. */
interface WorldOptions {
  readonly recipes?: readonly Recipe[];
  readonly maxDepth?: number;
}

/** A synthesizer over the endpoints. */
export function makeSynthesizer(
  endpoints: readonly EndpointDefinition[],
  { recipes = [], maxDepth = 10 }: WorldOptions = {},
): Synthesizer {
  const reaches = reachesAmong(endpoints);
  return atOnce(creatingSynthesizer({ endpoints, recipes, maxDepth, reaches }));
}

/** The pairs of a plan's steps; a failure's explanation. */
export function stepsOf(outcome: SynthesisPlan | PlanFailure): readonly string[] | string {
  if (outcome.kind === "failure") return outcome.explanation;
  return outcome.recipe.steps.map(({ method, path }) => `${method} ${path}`);
}

/** The plan; a test for which there has to be one ends where there is none. */
export function planOf(outcome: SynthesisPlan | PlanFailure): SynthesisPlan {
  if (outcome.kind === "failure") throw new Error(outcome.explanation);
  return outcome;
}

/** The failure; a test for which there has to be one ends where there is none. */
export function failureOf(outcome: SynthesisPlan | PlanFailure): PlanFailure {
  if (outcome.kind !== "failure") throw new Error(`planned ${JSON.stringify(stepsOf(outcome))}`);
  return outcome;
}
