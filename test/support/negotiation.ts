/**
 * A server that negotiates: endpoints to compose, a recipe, and agents with and without the scopes
 * and the tier that it takes.
 */
import { agentFile, configFile, endpointFile } from "./deployment.ts";
import type { TestReply, TestRequest, TestServer } from "./dispatch.ts";

/** May negotiate, and holds what the endpoints ask for. */
export const NORA: string = "a1".repeat(32);
/** As Nora, but another agent. */
export const OTTO: string = "b2".repeat(32);
/** May negotiate, and holds nothing else. */
export const PIA: string = "c3".repeat(32);
/** Of the third tier. */
export const QUIN: string = "d4".repeat(32);
/** May not negotiate. */
export const ROSA: string = "e5".repeat(32);
/** An operator. */
export const OPAL: string = "f6".repeat(32);

const HANDLERS = `
export const facts = ({ input }) => ({ body: { facts: ["old", "red"], about: input.subject } });
export const verdict = ({ input }) => ({ body: { verdict: input.facts.length + " facts" } });
export const place = ({ input }) => ({ body: { placed: input.item } });
`;

const RECIPE = (version: string): string => `
[[recipe]]
name = "audit"
version = "${version}"
description = "Audits a subject: its facts, then a verdict."
[recipe.pattern]
method_exact = "AUDIT"
path_exact = "/reviews"
has_parameters = ["subject"]
[[recipe.steps]]
method = "QUERY"
path = "/facts"
capture_as = "facts"
[recipe.steps.parameters.subject]
kind = "proposal"
value = "subject"
[[recipe.steps]]
method = "ANALYZE"
path = "/facts"
capture_as = "verdict"
[recipe.steps.parameters.facts]
kind = "previous_step"
value = "facts.facts"
[recipe.aggregation]
mode = "merge"
`;

const READING = { capability: "retrieval", impact: "informational", is_idempotent: true };
const FACTS = { type: "array", items: { type: "string" } };

function endpoint(options: Parameters<typeof endpointFile>[0], impact: object = READING): string {
  const semantic = {
    intent: "Do what the test asks for.",
    actor: "agent",
    outcome: "It is done.",
    confidence: 0.5,
    ...impact,
  };
  return endpointFile({ ...options, ...{ semantic } });
}

function output(members: Readonly<Record<string, object>>): object {
  return { type: "object", required: Object.keys(members), properties: members };
}

/** The files of that server; tables are merged over a configuration with all locks open. */
export function negotiationFiles(
  tables: Readonly<Record<string, object>> = {},
  recipeVersion = "1",
): Readonly<Record<string, string>> {
  const { policies = {}, ...others } = tables;
  const rcns = { enabled: true, min_trust_tier: 2, rate_limit_per_minute: 1000 };
  const identity = { inspect_acl: "public" };
  const all = { rcns, identity, ...policies };
  const agents = {
    nora: {
      ...{ agent_id: NORA, owner_id: "owner-of-nora" },
      scopes_accepted: ["rcns:negotiate", "facts:read", "orders:write"],
    },
    otto: { agent_id: OTTO, scopes_accepted: ["rcns:negotiate", "facts:read", "orders:write"] },
    pia: { agent_id: PIA, scopes_accepted: ["rcns:negotiate"] },
    quin: { agent_id: QUIN, scopes_accepted: ["rcns:negotiate", "facts:read"], trust_tier: 3 },
    rosa: { agent_id: ROSA, scopes_accepted: ["facts:read"] },
    opal: { agent_id: OPAL, scopes_accepted: ["inspect:all", "rcns:negotiate", "facts:read"] },
  };
  return {
    "agtp-server.toml": configFile({ policies: all, ...others }),
    "handlers.mjs": HANDLERS,
    "recipes/audit.toml": RECIPE(recipeVersion),
    "endpoints/facts.toml": endpoint({
      method: "QUERY",
      path: "/facts",
      properties: { subject: { type: "string" } },
      required: ["subject"],
      required_scopes: ["facts:read"],
      output_schema: output({ facts: FACTS, about: { type: "string" } }),
      handler: { type: "registered_function", function: "handlers.facts" },
    }),
    "endpoints/verdict.toml": endpoint({
      method: "ANALYZE",
      path: "/facts",
      properties: { facts: FACTS },
      required: ["facts"],
      output_schema: output({ verdict: { type: "string" } }),
      handler: { type: "registered_function", function: "handlers.verdict" },
    }),
    "endpoints/place.toml": endpoint(
      {
        method: "CREATE",
        path: "/orders",
        properties: { item: { type: "string" } },
        required: ["item"],
        required_scopes: ["orders:write"],
        output_schema: output({ placed: { type: "string" } }),
        handler: { type: "registered_function", function: "handlers.place" },
      },
      { capability: "creation", impact: "irreversible", is_idempotent: false },
    ),
    ...Object.fromEntries(
      Object.entries(agents).map(([name, agent]) => [
        `agents/${name}.agent.json`,
        agentFile({ name, ...agent }),
      ]),
    ),
  };
}

/** A semantic block for proposals. */
export const SEMANTIC: Readonly<Record<string, unknown>> = {
  intent: "Judge a subject.",
  actor: "agent",
  outcome: "A verdict.",
  capability: "analysis",
  confidence: 0.8,
  impact: "informational",
  is_idempotent: true,
};

/** What only the planner can make: from a subject to a verdict. */
export const JUDGE: Readonly<Record<string, unknown>> = {
  method: "EVALUATE",
  path: "/verdicts",
  description: "Judges a subject by its facts.",
  semantic: SEMANTIC,
  input_schema: {
    type: "object",
    properties: { subject: { type: "string" } },
    required: ["subject"],
    additionalProperties: false,
  },
  output_schema: {
    type: "object",
    properties: { verdict: { type: "string" } },
    required: ["verdict"],
  },
};

/** Asks as an agent, or as nobody. */
export function ask(
  server: Pick<TestServer, "send">,
  agentId: string | undefined,
  request: TestRequest,
  headers: Readonly<Record<string, string>> = {},
): Promise<TestReply> {
  const identity = agentId === undefined ? {} : { "Agent-ID": agentId };
  return server.send({ ...request, headers: { ...identity, ...headers } });
}

/** What the recipe of that server answers. */
export const AUDIT: TestRequest = { method: "AUDIT", path: "/reviews", body: { subject: "barn" } };

/** Opens the second lock. */
export const OPT_IN: Readonly<Record<string, string>> = { "Allow-RCNS": "true" };

/** A proposal in its wrapped form. */
export function propose(endpoint: object, more: object = {}): TestRequest {
  return { method: "PROPOSE", body: { endpoint, ...more } };
}

/** The id of a contract that is offered. */
export async function offerOf(server: Pick<TestServer, "send">, agentId: string): Promise<string> {
  const { status, body } = await ask(server, agentId, AUDIT, OPT_IN);
  if (status !== 461) throw new Error(`answered ${status}, not 461`);
  return String(body["synthesis_id"]);
}

/** Presents a contract. */
export function presenting(synthesisId: string): Readonly<Record<string, string>> {
  return { "Contract-Synthesized": synthesisId };
}
