/**
 * DISCOVER on "/" by criteria: ranked agents and endpoints. Candidates outside the caller's governance zone are left
 * out, as are agents that may not act now. 422 for conditions without criteria or intent.   AGTP "DISCOVER"
 */
import type { JsonRecord } from "../../base/json-value.ts";
import { type Refusal, violationAt } from "../../dispatch/refusals/refusal.ts";
import { type FloorMethod, floorResult } from "../../dispatch/routes/floor.ts";
import type { ExchangeView } from "../../dispatch/routes/route.ts";
import type { Call, HandlerSuccess } from "../../handlers/handler.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { Hit } from "./best-hits.ts";
import { type Asker, type SearchEntry, sourceOf } from "./entry.ts";
import { FILTER_SCHEMA } from "./filter.ts";
import { answerQuestion, type SearchTools } from "./query.ts";
import { COUNT_SCHEMA, QUESTION_SCHEMA, readNames } from "./question.ts";

interface DiscoverOptions extends SearchTools {
  /** The domain of each `manifest_uri`, which is left out without one. */
  readonly domain: string | undefined;
}

const FILTERS = FILTER_SCHEMA["properties"] as Readonly<Record<string, JsonSchema>>;

/** Parameters with the meaning of the `filter` members of the same names. */
const CONDITIONS = [
  ...["trust_tier_min", "behavioral_trust_min", "governance_zone", "org_domain"],
] as const;

/** Parameters that request a search instead of the directory or the manifest. */
const ASKING = ["criteria", "intent", "filter", "capability_domains", ...CONDITIONS];

/** Parameters of DISCOVER "/" by criteria, from both drafts. */
const DISCOVER_SCHEMA: JsonSchema = {
  type: "object",
  properties: {
    criteria: QUESTION_SCHEMA,
    intent: QUESTION_SCHEMA,
    filter: FILTER_SCHEMA,
    max_results: COUNT_SCHEMA,
    limit: COUNT_SCHEMA,
    capability_domains: FILTERS["capabilities"],
    ...Object.fromEntries(CONDITIONS.map((name) => [name, FILTERS[name]])),
  },
};

/** DISCOVER by criteria; the built-in method answers "/" without them. */
export function discoverMethod(options: DiscoverOptions): FloorMethod {
  return {
    isAsked: (input) => ASKING.some((name) => input[name] !== undefined),
    inputSchema: DISCOVER_SCHEMA,
    handler: (call, exchange) => answerCriteria(options, call, exchange),
  };
}

async function answerCriteria(
  options: DiscoverOptions,
  call: Call,
  exchange: ExchangeView,
): Promise<HandlerSuccess | Refusal> {
  const { input } = call;
  const name = input["criteria"] === undefined ? "intent" : "criteria";
  const value = input[name];
  if (value === undefined) {
    const message = "or intent is required where candidates are asked for";
    return violationAt("/criteria", "required", message);
  }
  const answer = await answerQuestion(
    options,
    { name, value, filter: conditionsOf(input) },
    { call, exchange },
    ({ filter: { status } }) => ({
      scope: ["agent", "endpoint"],
      threshold: 0,
      // A caller that filters by status also sees agents that may not act.
      condition: (entry) => status !== undefined || mayAct(entry),
      asksLiveSources: false,
    }),
    (hit, index, asker) => candidate(options, hit, index, asker),
  );
  if (answer.kind === "refusal") return answer;
  const { results: candidates, hasMore } = answer;
  return floorResult(call, {
    candidates,
    candidate_count: candidates.length,
    has_more: hasMore,
  });
}

function conditionsOf(input: JsonRecord): JsonRecord {
  const named = CONDITIONS.filter((name) => input[name] !== undefined);
  const domains = readNames(input["capability_domains"]);
  return {
    ...(input["filter"] as JsonRecord | undefined),
    ...Object.fromEntries(named.map((name) => [name, input[name]])),
    ...(domains === undefined ? {} : { capabilities: domains }),
  };
}

function mayAct({ facets: { status } }: SearchEntry): boolean {
  return status === undefined || ["active", "deprecated"].includes(status());
}

function candidate(
  { domain }: DiscoverOptions,
  { entry, confidence }: Hit,
  index: number,
  asker: Asker,
): JsonRecord {
  const { agent } = entry.facets;
  return {
    rank: index + 1,
    kind: entry.kind,
    source: sourceOf(entry),
    relevance: confidence,
    ...(entry.show(asker, "structured") as JsonRecord),
    ...(agent === undefined ? {} : { canonical_id: agent.agentId }),
    ...(agent === undefined || domain === undefined
      ? {}
      : { manifest_uri: `agtp://${domain}/agents/${agent.agentId}` }),
  };
}
