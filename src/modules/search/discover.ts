/**
 * DISCOVER on "/" by criteria: agents and endpoints that fit, ranked. Candidates outside of the
 * caller's governance zone are not among them, and neither are agents that may not act now. 422
 * where conditions come without criteria or intent.   AGTP "DISCOVER"
 */

import type { JsonRecord } from "../../base/json-value.ts";
import type { Drive } from "../../base/paced.ts";
import type { TaskQueue } from "../../base/task-queue.ts";
import { payerOf } from "../../dispatch/rates/rates.ts";
import { type Refusal, rateLimited, schemaViolation } from "../../dispatch/refusals/refusal.ts";
import type { FloorMethod } from "../../dispatch/routes/floor.ts";
import { floorResult } from "../../dispatch/routes/floor-result.ts";
import type { ExchangeView } from "../../dispatch/routes/route.ts";
import type { Call, HandlerSuccess } from "../../handlers/handler.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { CompiledSchema } from "../../schema/schema.ts";
import type { Hit } from "./best-hits.ts";
import { type Asker, type SearchEntry, sourceOf } from "./entry.ts";
import { FILTER_SCHEMA } from "./filter.ts";
import {
  COUNT_SCHEMA,
  fitResults,
  QUESTION_SCHEMA,
  readAsker,
  readMaxResults,
  readNames,
  readQuestion,
} from "./question.ts";
import type { Search } from "./search.ts";

interface DiscoverOptions {
  readonly search: Search;
  readonly work: TaskQueue;
  /** `FILTER_SCHEMA`, compiled. */
  readonly filter: CompiledSchema;
  /** For `manifest_uri`; without one there is none. */
  readonly domain: string | undefined;
}

const FILTERS = FILTER_SCHEMA["properties"] as Readonly<Record<string, JsonSchema>>;

/** Parameters beside `filter` that say what its members of the same name say. */
const CONDITIONS = [
  ...["trust_tier_min", "behavioral_trust_min", "governance_zone", "org_domain"],
] as const;

/** Any of them asks for a search instead of the directory or the manifest. */
const ASKING = ["criteria", "intent", "filter", "capability_domains", ...CONDITIONS];

/** Parameters of DISCOVER "/" by criteria, of both drafts. */
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

/** DISCOVER by criteria; what it is on "/" beside that, the built-in says. */
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
    return schemaViolation([{ path: "/criteria", keyword: "required", message }]);
  }
  const question = readQuestion({ name, value, filter: conditionsOf(input) }, options.filter);
  if (question.kind === "fault") return schemaViolation(question.violations);
  const owner = payerOf(exchange);
  if (!options.work.hasRoom(owner)) return rateLimited("work", 1);
  const drive: Drive = (steps) => options.work.pace(steps, owner, call.signal);
  const asker = readAsker(exchange);
  const maxResults = readMaxResults(input["max_results"] ?? input["limit"]);
  const showsLapsed = question.filter["status"] !== undefined;
  const { hits, hasMore } = await options.search.find(
    {
      question,
      scope: ["agent", "endpoint"],
      threshold: 0,
      maxResults,
      condition: (entry) => showsLapsed || mayAct(entry),
      asksLiveSources: false,
    },
    asker,
    { log: call.log, drive },
  );
  const showing = fitResults(hits, (hit, index) => candidate(options, hit, index, asker));
  const candidates = await drive(showing);
  return floorResult(call, {
    candidates,
    candidate_count: candidates.length,
    has_more: hasMore || candidates.length < hits.length,
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
