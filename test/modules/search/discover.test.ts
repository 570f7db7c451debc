/** DISCOVER by criteria: candidates, the conditions they meet, and the zones they are in. */
import { describe, expect, it } from "vitest";
import { agentFile } from "../../support/deployment.ts";
import { openServer, shareServer, type TestServer } from "../../support/dispatch.ts";
import { makeCertificate } from "../../support/hosted-agents.ts";
import { ask, discoverBy, type TestAsker } from "../../support/querying.ts";
import { CLERK, corpusFiles, GUEST } from "../../support/search-corpus.ts";

const EU_AGENT = "e0".repeat(32);
const EU_CALLER = "e1".repeat(32);
const US_AGENT = "05".repeat(32);
const RESTING = "0f".repeat(32);

const painter = { description: "Paints pictures.", skills: [{ name: "oil", tags: ["art"] }] };
const agents = {
  "agents/eva.agent.json": agentFile({
    ...{ agent_id: EU_AGENT, name: "eva", governance_zone: "zone:eu", ...painter },
    ...{ geography: "Norway", org_domain: "eva.example", principal: "Atelier", trust_tier: 1 },
    ...{ dns_anchor_record: "x", verification_path: "dns-anchored" },
    ...{ trust_score: 0.9, trust_score_computed_at: "2030-01-01T00:00:00Z" },
  }),
  "agents/edda.agent.json": agentFile({
    ...{ agent_id: EU_CALLER, name: "edda", governance_zone: "zone:eu" },
    description: "Buys.",
  }),
  "agents/uma.agent.json": agentFile({
    ...{ agent_id: US_AGENT, name: "uma", governance_zone: "zone:us", ...painter },
    // Of a hundred, where AGTP-TRUST has scores from 0 to 1: this is none.
    ...{ trust_score: 91, trust_score_computed_at: "2030-01-01T00:00:00Z" },
  }),
  "agents/rest.agent.json": agentFile({
    ...{ agent_id: RESTING, name: "rest", status: "suspended", ...painter },
  }),
};

const server = shareServer({ ...corpusFiles({ server: { domain: "desk.example" } }), ...agents });

async function names(body: object, asker: TestAsker = {}, on: TestServer = server()) {
  const found = await discoverBy(on, body, asker);
  return found.map((one) => String(one["name"] ?? `${one["method"]} ${one["path"]}`));
}

// AGTP "DISCOVER"
describe("DISCOVER by criteria", () => {
  it("ranks agents and endpoints, each with what it takes to use it", async () => {
    const [agent] = await discoverBy(server(), { criteria: "paints oil pictures" }, {});
    expect(agent).toMatchObject({
      rank: 1,
      kind: "agent",
      relevance: expect.any(Number),
      agent_id: EU_AGENT,
      canonical_id: EU_AGENT,
      manifest_uri: `agtp://desk.example/agents/${EU_AGENT}`,
      name: "eva",
      description: "Paints pictures.",
      principal: "Atelier",
      governance_zone: "zone:eu",
      skills: ["oil", "art"],
      example: { method: "DESCRIBE", path: `/agents/${EU_AGENT}` },
    });
    const [endpoint] = await discoverBy(server(), { intent: "refund a payment" }, { agent: CLERK });
    expect(endpoint).toMatchObject({
      kind: "endpoint",
      relevance: 1,
      method: "REFUND",
      callable: true,
      input_schema: { required: ["payment_id"] },
    });
  });

  it("answers with the envelope of a floor method", async () => {
    const parameters = { criteria: "zxqv" };
    const body = { method: "DISCOVER", task_id: "t-1", parameters };
    expect((await ask(server(), "DISCOVER", body)).body).toEqual({
      status: 200,
      task_id: "t-1",
      result: { candidates: [], candidate_count: 0, has_more: false },
    });
  });

  it("is still the directory and the manifest to whoever gives no criteria", async () => {
    const directory = await ask(server(), "DISCOVER", { max_results: 3 }, { agent: GUEST });
    expect(directory.body).toHaveProperty("directory");
    expect((await ask(server(), "DISCOVER", {})).body).toHaveProperty("agtp_version");
  });

  it("takes criteria as an object: words, and conditions among them", async () => {
    const criteria = { skill: "art", governance_zone: "zone:us", kind: "agent" };
    expect(await names({ criteria })).toEqual(["uma"]);
    expect(await names({ criteria: { trust_tier: 1 } })).toEqual(["eva"]);
  });

  it("gives at most as many as are asked for, ten unless they are", async () => {
    expect(await names({ criteria: "*" })).toHaveLength(10);
    expect(await names({ criteria: "*", max_results: 3 })).toHaveLength(3);
    expect(await names({ criteria: "*", limit: 12 })).toHaveLength(12);
    const all = await ask(server(), "DISCOVER", { criteria: "*", max_results: 1_000_000 });
    expect(all.body["result"]).toMatchObject({ has_more: false });
  });

  it.each<readonly [object, readonly string[]]>([
    [{ capabilities: ["art"] }, ["eva", "uma"]],
    [{ capabilities: "ART" }, ["eva", "uma"]],
    [{ capability: "domain_spanning", tier: "B" }, ["SCHEDULE /meetings"]],
    [{ tier: 1 }, ["eva"]],
    [{ geography: "norway" }, ["eva"]],
    [{ principal: "Atelier" }, ["eva"]],
    [{ scopes: ["billing:write"], kind: "agent" }, ["clerk"]],
    [{ status: "suspended" }, ["rest"]],
    [{ governance_zone: "zone:us" }, ["uma"]],
  ])("filter %j", async (filter, expected) => {
    expect((await names({ criteria: "*", filter })).toSorted()).toEqual(expected);
  });

  it.each<readonly [object, readonly string[]]>([
    [{ capability_domains: ["art"] }, ["eva", "uma"]],
    [{ trust_tier_min: 1 }, ["eva"]],
    [{ behavioral_trust_min: 0.9 }, ["eva"]],
    [{ behavioral_trust_min: 0.91 }, []],
    [{ governance_zone: "zone:eu" }, ["edda", "eva"]],
    [{ org_domain: "eva.example" }, ["eva"]],
  ])("condition %j beside the filter", async (condition, expected) => {
    const found = await names({ criteria: "*", filter: { kind: "agent" }, ...condition });
    expect(found.toSorted()).toEqual(expected);
  });

  it.each<readonly [object, string]>([
    [{ filter: { tier: 1 } }, "/criteria"],
    [{ trust_tier_min: 1 }, "/criteria"],
    [{ criteria: "" }, "/criteria"],
    [{ criteria: 7 }, "/criteria"],
    [{ criteria: "x".repeat(1025) }, "/criteria"],
    [{ criteria: { tier: "first" } }, "/criteria/tier"],
    [{ criteria: "x", filter: { colour: "red" } }, "/filter"],
    [{ criteria: "x", max_results: 0 }, "/max_results"],
    [{ criteria: "x", trust_tier_min: 9 }, "/trust_tier_min"],
    [{ criteria: "x", colour: "red" }, ""],
  ])("refuses %j", async (body, path) => {
    const { status, body: answer } = await ask(server(), "DISCOVER", body);
    expect(status).toBe(422);
    const errors = answer["error"]?.["details"]?.["errors"] as unknown as readonly object[];
    expect(errors[0]).toMatchObject({ path: expect.stringMatching(new RegExp(`^${path}`)) });
  });

  it("shows no agent that may not act now, unless it is asked for", async () => {
    expect(await names({ criteria: "pictures" })).toEqual(["eva", "uma"]);
  });

  it("shows agents as they are disclosed", async () => {
    const tables = { agents: { disclosure: "private" } };
    const hiding = await openServer({ ...corpusFiles(tables), ...agents });
    expect(await names({ criteria: "pictures" }, { agent: CLERK }, hiding)).toEqual([]);
  });
});

// AGTP "Zones"
describe("candidates", () => {
  const painters = { criteria: "pictures" };

  it("outside of the caller's zone are not shown", async () => {
    expect(await names(painters, { agent: EU_CALLER })).toEqual(["eva"]);
    expect(await names(painters, { agent: CLERK })).toEqual(["eva", "uma"]);
  });

  it("are those of the zone that the request names", async () => {
    const named = (zone: string, agent?: string) => ({
      headers: { "AGTP-Zone-ID": zone },
      ...(agent === undefined ? {} : { agent }),
    });
    expect(await names(painters, named("zone:us"))).toEqual(["uma"]);
    expect(await names(painters, named("zone:us", CLERK))).toEqual(["uma"]);
    expect(await names(painters, named("zone:us", EU_CALLER))).toEqual([]);
    expect(await names(painters, named("zone:eu", EU_CALLER))).toEqual(["eva"]);
  });

  it("are those of the zone of the certificate", async () => {
    const extensions = { agentId: CLERK, governanceZone: "zone:us" };
    const peer = { certificate: makeCertificate({ agent: extensions }) };
    expect(await names(painters, { agent: CLERK, peer })).toEqual(["uma"]);
  });

  it("without a zone are outside of none, and endpoints have none", async () => {
    const asker = { agent: EU_CALLER };
    expect(await names({ criteria: "back office clerk", max_results: 1 }, asker)).toEqual([
      "clerk",
    ]);
    expect(await names({ criteria: "weather", max_results: 1 }, asker)).toEqual([
      "FORECAST /weather",
    ]);
  });

  it("are shown by QUERY under the same rule", async () => {
    const body = { intent: "pictures", scope: ["agents"], filter: { status: "active" } };
    const reply = await ask(server(), "QUERY", body, { agent: EU_CALLER });
    expect(reply.body["result"]).toMatchObject({ results: [{ source: `agent:${EU_AGENT}` }] });
  });
});
