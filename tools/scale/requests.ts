/** The requests whose cost depends on the size of the deployment, each in its most expensive form. */
import type { ClientRequest } from "../../src/client/agtp-client.ts";
import { agentId, CALLER_SCOPES, wordOf } from "./deployment.ts";

/** A kind of request, with its name in the report. */
export interface ScaleRequest {
  readonly label: string;
  /** The nth request of its kind: no two are equal, so that caches do not help. */
  make(index: number): ClientRequest;
}

const CALLER = agentId(0);

function misspelt(number: number): string {
  const word = wordOf(number);
  return `${word.slice(0, 3)}${word.slice(4)}`;
}

function words(count: number, make: (place: number) => string): string {
  return Array.from({ length: count }, (_, place) => make(place)).join(" ");
}

function query(label: string, input: (index: number) => object, more = {}): ScaleRequest {
  return {
    label,
    make: (index) => ({ method: "QUERY", agentId: CALLER, parameters: input(index), ...more }),
  };
}

function discover(label: string, input: (index: number) => object): ScaleRequest {
  return {
    label,
    make: (index) => ({ method: "DISCOVER", agentId: CALLER, parameters: input(index) }),
  };
}

function at(label: string, path: string, caller: string | undefined): ScaleRequest {
  return { label, make: () => ({ method: "DISCOVER", path, agentId: caller }) };
}

/** The requests in sending order. */
export const SCALE_REQUESTS: readonly ScaleRequest[] = [
  query("QUERY one word", (n) => ({ intent: wordOf(n * 31) })),
  query("QUERY a sentence", (n) => ({
    intent: `find the price of ${wordOf(n)} for ${wordOf(n + 5)}`,
  })),
  query("QUERY a misspelt word", (n) => ({ intent: misspelt(n * 31 + 400) })),
  query("QUERY 110 octets, misspelt", (n) => ({ intent: misspelt(n).repeat(18).slice(0, 110) })),
  query("QUERY 32 misspelt words", (n) => ({ intent: words(32, (at) => misspelt(n * 32 + at)) })),
  query("QUERY 32 common words", (n) => ({
    intent: `order customer price status date room report find list create search show fetch get read view check new open register make purchase buy stay reserve reservation cost fee rate quote amount state ${wordOf(n)}`,
  })),
  query("QUERY beginnings", (n) => ({
    intent: words(32, (at) => wordOf(n * 32 + at).slice(0, 3)),
  })),
  query("QUERY nested beginnings", (n) => ({
    intent: `ord orde cus cust custo custom pri pric sta stat statu dat roo rep repo repor fin lis cre crea creat ${wordOf(n)}`,
  })),
  query("QUERY everything, 100 results", () => ({ intent: "*", limit: 1_000_000 })),
  query("QUERY common, 100 results", () => ({ intent: "order price", limit: 1_000_000 })),
  query("QUERY callable", (n) => ({ intent: `order ${wordOf(n)}`, filter: { callable: true } })),
  query("QUERY a filter that nothing meets", () => ({
    intent: "*",
    filter: {
      tag: Array.from({ length: 64 }, (_, at) => `none${at}`),
      path: Array.from({ length: 64 }, (_, at) => `/none${at}`),
    },
  })),
  query(
    "QUERY by scopes",
    () => ({ intent: "order price", filter: { scopes: CALLER_SCOPES, callable: false } }),
    { scopes: CALLER_SCOPES },
  ),
  query("QUERY agents", (n) => ({
    intent: `agent ${wordOf(n)}`,
    scope: "agents",
    filter: { status: "active" },
  })),
  discover("DISCOVER by criteria", (n) => ({
    criteria: { words: `${wordOf(n)} order`, capability: "transaction", tier: "B" },
  })),
  discover("DISCOVER agents by criteria", () => ({
    criteria: "agent",
    filter: { capability: Array.from({ length: 64 }, (_, at) => wordOf(at)), trust_tier_min: 3 },
  })),
  at("DISCOVER / (manifest)", "/", undefined),
  ...["/methods", "/agents", "/tools"].map((path) => at(`DISCOVER ${path}`, path, CALLER)),
  {
    label: "PLAN by words",
    make: (n) => ({
      method: "PLAN",
      agentId: CALLER,
      parameters: { goal: `create the report of ${wordOf(n)} and ${wordOf(n + 9)}` },
    }),
  },
  {
    label: "PLAN of common words",
    make: (n) => ({
      method: "PLAN",
      agentId: CALLER,
      parameters: {
        goal: words(64, (at) => (at % 2 === 0 ? wordOf(n + at * 3) : "order customer price")),
      },
    }),
  },
  {
    label: "PROPOSE",
    make: (n) => ({
      method: "PROPOSE",
      agentId: CALLER,
      parameters: {
        method: "CREATE",
        path: `/wish/${n}`,
        semantic: {
          intent: `Create the order of ${wordOf(n)}.`,
          actor: "agent",
          outcome: "It is made.",
          capability: "transaction",
          confidence: 0.9,
          impact: "reversible",
          is_idempotent: false,
        },
        input_schema: { type: "object", properties: { a: { type: "string" } } },
        output_schema: {
          type: "object",
          required: [`${wordOf(n * 11)}_id`],
          properties: { [`${wordOf(n * 11)}_id`]: { type: "string" } },
        },
      },
    }),
  },
  {
    label: "EXECUTE of something unknown",
    make: (n) => ({
      method: "EXECUTE",
      agentId: CALLER,
      parameters: { action: misspelt(n * 31) },
    }),
  },
  {
    label: "INSPECT a chain's head",
    make: () => ({
      method: "INSPECT",
      agentId: CALLER,
      parameters: { target: "chain_head", agent_id: CALLER },
    }),
  },
];
