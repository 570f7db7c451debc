/**
 * QUERY on "/": searches this server's data by intent. Results are ranked, each with its source, its confidence, and
 * everything needed to use it. 422 without an intent, or for invalid parameters; no match is a 200 without results.
 * AGTP "QUERY"
 */
import type { JsonRecord } from "../../base/json-value.ts";
import type { Drive } from "../../base/paced.ts";
import type { TaskQueue } from "../../base/task-queue.ts";
import { payerOf } from "../../dispatch/rates/rates.ts";
import { type Refusal, rateLimited, schemaViolation } from "../../dispatch/refusals/refusal.ts";
import { type FloorMethod, floorResult } from "../../dispatch/routes/floor.ts";
import type { ExchangeView } from "../../dispatch/routes/route.ts";
import type { Call, HandlerSuccess } from "../../handlers/handler.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { CompiledSchema } from "../../schema/schema.ts";
import type { Hit } from "./best-hits.ts";
import { type Asker, FORMATS, type Format, type SearchEntry, sourceOf } from "./entry.ts";
import { FILTER_SCHEMA } from "./filter.ts";
import {
  type Asked,
  COUNT_SCHEMA,
  fitResults,
  MAX_QUESTION_LENGTH,
  QUESTION_SCHEMA,
  type Question,
  readAsker,
  readMaxResults,
  readNames,
  readQuestion,
} from "./question.ts";
import type { Findings, Search, SearchRequest } from "./search.ts";

/** Dependencies of search methods. */
export interface SearchTools {
  readonly search: Search;
  readonly work: TaskQueue;
  /** `FILTER_SCHEMA`, compiled. */
  readonly filter: CompiledSchema;
}

const NAMES = {
  type: ["string", "array"],
  maxLength: MAX_QUESTION_LENGTH,
  items: { type: "string", maxLength: 256 },
  maxItems: 64,
};

/** Parameters of QUERY: the draft's, and `query` and `limit` as aliases. */
const QUERY_SCHEMA: JsonSchema = {
  type: "object",
  anyOf: [{ required: ["intent"] }, { required: ["query"] }],
  properties: {
    intent: { ...QUESTION_SCHEMA, description: "What you want to know or do, in words." },
    query: { ...QUESTION_SCHEMA, description: "The same as intent." },
    scope: { ...NAMES, description: "Where to look: kinds, sources or namespaces." },
    format: { enum: FORMATS },
    confidence_threshold: { type: "number", minimum: 0, maximum: 1 },
    max_results: COUNT_SCHEMA,
    limit: COUNT_SCHEMA,
    filter: FILTER_SCHEMA,
    context: { type: "object" },
  },
};

/** QUERY as a floor method. */
export function queryMethod(options: SearchTools): FloorMethod {
  return {
    inputSchema: QUERY_SCHEMA,
    handler: (call, exchange) => answerQuery(options, call, exchange),
  };
}

/** The results that fit into one answer. */
interface Answer<Result> {
  readonly kind: "answer";
  readonly findings: Findings;
  readonly results: readonly Result[];
  readonly hasMore: boolean;
}

/** Answers a search in paced steps; 422 for a malformed question, 429 without room in the queue. */
export async function answerQuestion<Result>(
  { search, work, filter }: SearchTools,
  asked: Asked,
  { call, exchange }: { readonly call: Call; readonly exchange: ExchangeView },
  requestOf: (question: Question) => Omit<SearchRequest, "question" | "maxResults">,
  show: (hit: Hit, index: number, asker: Asker) => Result,
): Promise<Answer<Result> | Refusal> {
  const question = readQuestion(asked, filter);
  if (question.kind === "fault") return schemaViolation(question.violations);
  const owner = payerOf(exchange);
  if (!work.hasRoom(owner)) return rateLimited("work", 1);
  const drive: Drive = (steps) => work.pace(steps, owner, call.signal);
  const asker = readAsker(exchange);
  const maxResults = readMaxResults(call.input["max_results"] ?? call.input["limit"]);
  const request = { ...requestOf(question), question, maxResults };
  const findings = await search.find(request, asker, { log: call.log, drive });
  const { hits } = findings;
  const results = await drive(fitResults(hits, (hit, index) => show(hit, index, asker)));
  const hasMore = findings.hasMore || results.length < hits.length;
  return { kind: "answer", findings, results, hasMore };
}

async function answerQuery(
  tools: SearchTools,
  call: Call,
  exchange: ExchangeView,
): Promise<HandlerSuccess | Refusal> {
  const { input } = call;
  const name = input["intent"] === undefined ? "query" : "intent";
  const filter = (input["filter"] ?? {}) as JsonRecord;
  const format = (input["format"] ?? "structured") as Format;
  const threshold = Number(input["confidence_threshold"] ?? 0);
  const answer = await answerQuestion(
    tools,
    { name, value: input[name], filter },
    { call, exchange },
    () => ({ scope: readNames(input["scope"]), threshold, asksLiveSources: true }),
    (hit, index, asker) => queryResult(hit, index, format, asker),
  );
  if (answer.kind === "refusal") return answer;
  const { findings, results, hasMore } = answer;
  return floorResult(call, {
    intent: input[name],
    format,
    confidence_threshold: threshold,
    results,
    result_count: results.length,
    has_more: hasMore,
    ...(format === "natural" ? { answer: inWords(results, findings) } : {}),
    ...searchedPlaces(findings),
  });
}

interface QueryResult {
  readonly rank: number;
  readonly kind: string;
  readonly source: string;
  readonly confidence: number;
  readonly method?: string;
  readonly path?: string;
  readonly content: unknown;
}

function queryResult(
  { entry, confidence }: Hit,
  index: number,
  format: Format,
  asker: Asker,
): QueryResult {
  return {
    rank: index + 1,
    kind: entry.kind,
    source: sourceOf(entry),
    confidence,
    ...pairOf(entry),
    content: entry.show(asker, format),
  };
}

/** Returns the pair of a callable entry. */
function pairOf({ kind, facets: { method, path } }: SearchEntry) {
  if (kind !== "endpoint" || method === undefined || path === undefined) return {};
  return { method, path };
}

function searchedPlaces({ searched, unknownScope, unavailable }: Findings) {
  return {
    sources: searched,
    ...(unknownScope.length === 0 ? {} : { unknown_scope: unknownScope }),
    ...(unavailable.length === 0 ? {} : { unavailable_sources: unavailable }),
  };
}

function inWords(results: readonly QueryResult[], { searched }: Findings): string {
  const places = searched.join(", ") || "nothing";
  if (results.length === 0) return `Nothing here answers that. Searched: ${places}.`;
  const lines = results.map(
    ({ rank, confidence, content }) => `${rank}. (confidence ${confidence}) ${String(content)}`,
  );
  return [`Searched: ${places}. Best first:`, ...lines].join("\n");
}
