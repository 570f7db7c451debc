import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { FLOOR_METHODS } from "../../../src/catalog/catalog.ts";
import type { AgentStanding } from "../../../src/identity/agent-document.ts";
import { readAgentFile } from "../../../src/identity/agent-file.ts";
import { statusDocument } from "../../../src/modules/discovery/describe.ts";
import {
  agentFile,
  configFile,
  createDeployment,
  endpointFile,
  type TestDeployment,
} from "../../support/deployment.ts";
import { ALICE, BOB, discoveryFiles } from "../../support/discovery.ts";
import {
  createServer,
  openServer,
  type TestReply,
  type TestRequest,
  type TestServer,
} from "../../support/dispatch.ts";
import { ALICE as HOSTED, hostedFiles } from "../../support/hosted-agents.ts";

const STRANGER = "e".repeat(64);
const IDENTITY_JSON = "application/vnd.agtp.identity+json";
const IDENTITY_YAML = "application/vnd.agtp.identity+yaml";

type Tables = Readonly<Record<string, object>>;
type Files = Readonly<Record<string, string>>;

/** One server for all tests that change nothing and need nothing special. */
let plainDeployment: TestDeployment;
let plainServer: TestServer;

beforeAll(async () => {
  plainDeployment = createDeployment(discoveryFiles());
  plainServer = await createServer(plainDeployment);
});

afterAll(async () => {
  await plainServer.close();
  plainDeployment.remove();
});

async function open(tables?: Tables, files: Files = {}) {
  const server =
    tables === undefined ? plainServer : await openServer({ ...discoveryFiles(tables), ...files });
  const ask = (request: Partial<TestRequest>, agent?: string): Promise<TestReply> => {
    const headers = { ...(agent === undefined ? {} : { "Agent-ID": agent }), ...request.headers };
    return server.send({ method: "DESCRIBE", ...request, headers });
  };
  return { server, ask };
}

/** The capability document that a reply holds. */
function resultOf({ status, body }: TestReply) {
  expect(status).toBe(200);
  expect(body).toMatchObject({ status: 200 });
  return body["result"] as unknown as Readonly<Record<string, unknown>>;
}

// AGTP "DESCRIBE"
describe("DESCRIBE", () => {
  it("gives the capability document of the agent that asks", async () => {
    const { ask } = await open();
    const result = resultOf(await ask({}, ALICE));
    expect(result).toEqual({
      agent_id: ALICE,
      name: "alice",
      status: "active",
      methods: [...FLOOR_METHODS, "BOOK", "RESERVE"],
      modalities: [],
      tools: [],
      version: "1.0",
      version_min_satisfied: true,
      budget_units_accepted: [],
      zones_accepted: [],
    });
  });

  it("shows what the document says of itself", async () => {
    const document = {
      agent_id: BOB,
      name: "bob",
      version: "2.1.0",
      modalities: ["text", "image"],
      tools: [{ name: "hammer", url: "x" }, "saw", 7],
      budget_units_accepted: ["tokens"],
      governance_zone: "zone:eu",
      trust_score: 0.75,
      trust_score_computed_at: "2030-01-01T00:00:00Z",
    };
    const { ask } = await open({}, { "agents/bob.agent.json": agentFile(document) });
    expect(resultOf(await ask({ body: { version_min: "2.1" } }, BOB))).toMatchObject({
      modalities: ["text", "image"],
      tools: ["hammer", "saw"],
      version: "2.1.0",
      version_min_satisfied: true,
      budget_units_accepted: ["tokens"],
      zones_accepted: ["zone:eu"],
      trust_score: 0.75,
      trust_score_computed_at: "2030-01-01T00:00:00Z",
    });
  });

  // AGTP-TRUST "Trust Score"
  it("shows no score without the time that it was computed at", async () => {
    const document = { agent_id: BOB, name: "bob", trust_score: 0.75 };
    const { ask } = await open({}, { "agents/bob.agent.json": agentFile(document) });
    expect(resultOf(await ask({}, BOB))).not.toHaveProperty("trust_score");
  });

  it("shows the zone that the Genesis names, where the document names none", async () => {
    const server = await openServer(hostedFiles());
    const headers = { "Agent-ID": HOSTED };
    const body = { capability_domains: ["zones"] };
    const reply = await server.send({ method: "DESCRIBE", headers, body });
    expect(reply.body["result"]).toMatchObject({ zones_accepted: ["zone:eu-west"] });
  });

  it("echoes the task of an envelope", async () => {
    const { ask } = await open();
    const body = { method: "DESCRIBE", task_id: "t-1", parameters: {} };
    expect((await ask({ body }, ALICE)).body).toMatchObject({ status: 200, task_id: "t-1" });
  });

  it("does not list a method that the policy refuses", async () => {
    const { ask } = await open({ policies: { methods: { disallow: ["BOOK", "PLAN"] } } });
    const { methods } = resultOf(await ask({}, ALICE)) as { methods: string[] };
    expect(methods).not.toContain("BOOK");
    expect(methods).not.toContain("PLAN");
    expect(methods).toContain("RESERVE");
  });
});

describe("capability_domains", () => {
  const OWN = ["agent_id", "name", "status"];

  it.each<readonly [unknown, readonly string[]]>([
    ["methods", ["methods"]],
    ["tools, modalities", ["modalities", "tools"]],
    [["version"], ["version", "version_min_satisfied"]],
    [
      ["budget", "zones"],
      ["budget_units_accepted", "zones_accepted"],
    ],
    ["zones,zones", ["zones_accepted"]],
  ])("%j limits the document", async (domains, members) => {
    const { ask } = await open();
    const result = resultOf(await ask({ body: { capability_domains: domains } }, ALICE));
    expect(Object.keys(result)).toEqual([...OWN, ...members]);
  });

  it.each(["", []])("%j is all of them", async (domains) => {
    const { ask } = await open();
    const result = resultOf(await ask({ body: { capability_domains: domains } }, ALICE));
    expect(Object.keys(result)).toHaveLength(10);
  });

  it("may stand in the query", async () => {
    const { ask } = await open();
    const result = resultOf(await ask({ query: "capability_domains=tools,zones" }, ALICE));
    expect(Object.keys(result)).toEqual([...OWN, "tools", "zones_accepted"]);
  });

  it.each([
    "magic",
    "Methods",
    "methods,",
    ",",
    ["methods", ""],
    "__proto__",
    7,
    ["methods", 7],
    {},
  ])("%j is refused", async (domains) => {
    const { ask } = await open();
    const { status, body } = await ask({ body: { capability_domains: domains } }, ALICE);
    expect(status).toBe(422);
    expect(body).toMatchObject({
      error: {
        code: "schema-validation-failed",
        details: { errors: [{ path: expect.stringMatching(/^\/capability_domains/) }] },
      },
    });
  });
});

describe("version_min", () => {
  it.each([
    ["1.0", true],
    ["0.9.9", true],
    ["AGTP/1.0", true],
    ["1.0.1", false],
    ["2", false],
  ])("%s is satisfied: %s", async (minimum, isSatisfied) => {
    const { ask } = await open();
    expect(resultOf(await ask({ body: { version_min: minimum } }, ALICE))).toMatchObject({
      version: "1.0",
      version_min_satisfied: isSatisfied,
    });
  });

  it.each(["", "one", "1.x", "1.0.0.0", 1, null])("%j is refused", async (minimum) => {
    const { ask } = await open();
    const { status, body } = await ask({ body: { version_min: minimum } }, ALICE);
    expect(status).toBe(422);
    expect(body).toMatchObject({
      error: { details: { errors: [{ path: "/version_min" }] } },
    });
  });
});

// AGTP "URI Resolution"
describe("the addressed agent", () => {
  it("is the one that the path names, by its name or its id, before any other", async () => {
    const { ask } = await open({ agents: { default: "alice" } });
    for (const path of ["/agents/bob", `/agents/${BOB}`, "/agents/b%6Fb"]) {
      const reply = await ask({ path, body: { agent_id: ALICE, agent: ALICE } }, ALICE);
      expect(resultOf(reply)).toMatchObject({ agent_id: BOB, name: "bob" });
      expect(reply.headers.get("trust-tier")).toBe("3");
      expect(reply.headers.get("agent-id")).toBe(ALICE);
    }
  });

  it("is the one that the body names, before the caller", async () => {
    const { ask } = await open({ agents: { default: "alice" } });
    for (const agentId of ["bob", BOB]) {
      const reply = await ask({ body: { agent_id: agentId } }, ALICE);
      expect(resultOf(reply)).toMatchObject({ agent_id: BOB });
    }
  });

  it("is the caller, before the default", async () => {
    const { ask } = await open({ agents: { default: "alice" } });
    expect(resultOf(await ask({}, BOB))).toMatchObject({ agent_id: BOB });
  });

  it("is the default, for a caller that is not hosted here", async () => {
    const identity = { unknown_agents: "accept" };
    const { ask } = await open({ agents: { default: "bob" }, policies: { identity } });
    expect(resultOf(await ask({}))).toMatchObject({ agent_id: BOB });
    expect(resultOf(await ask({}, STRANGER))).toMatchObject({ agent_id: BOB });
  });

  it("is the server itself where there is no other", async () => {
    const { ask } = await open({ server: { operator: "Acme" } });
    const result = resultOf(await ask({ body: { version_min: "2.0" } }));
    expect(result).toMatchObject({
      server_id: "test",
      name: "Acme",
      status: "active",
      version_min_satisfied: false,
    });
    expect(result).not.toHaveProperty("agent_id");
  });

  it("is nobody for the identity of a server", async () => {
    const { ask } = await open();
    const { status, body } = await ask({ headers: { Accept: IDENTITY_JSON } });
    expect(status).toBe(404);
    expect(body).toMatchObject({ error: { code: "agent-not-found" } });
  });

  it.each([
    ["/agents/carol", {}],
    [`/agents/${STRANGER}`, {}],
    ["/agents/__proto__", {}],
    ["/agents/%2e%2e%2fbob", {}],
    ["/agents/carol/status", {}],
    ["/", { agent_id: "carol" }],
  ])("is not found at %s with %j", async (path, input) => {
    const { ask } = await open();
    const { status, body } = await ask({ path, body: input }, ALICE);
    expect(status).toBe(404);
    expect(body).toMatchObject({ error: { code: "agent-not-found" } });
  });

  it.each(["", 7, null, {}, "x".repeat(257)])("cannot be %j", async (agentId) => {
    const { ask } = await open();
    expect((await ask({ body: { agent_id: agentId } }, ALICE)).status).toBe(422);
  });
});

// AGTP-API §8.5
describe("an agent that is not disclosed", () => {
  const paths = ["/agents/bob", `/agents/${BOB}`, "/agents/bob/status"];

  it.each(["DESCRIBE", "FETCH", "QUERY"])("is as if it were not there for %s", async (method) => {
    const { ask } = await open({ agents: { disclosure: "private" } });
    const unknown = await ask({ method, path: "/agents/carol" }, ALICE);
    for (const path of paths) {
      for (const caller of [undefined, ALICE]) {
        const reply = await ask({ method, path }, caller);
        expect(reply.status).toBe(404);
        expect(reply.body).toEqual(unknown.body);
        expect(reply.headers.get("trust-tier")).not.toBe("3");
      }
    }
  });

  it("is there for itself", async () => {
    const { ask } = await open({ agents: { disclosure: "private" } });
    for (const path of ["/", ...paths]) expect((await ask({ path }, BOB)).status).toBe(200);
    expect((await ask({ body: { agent_id: "bob" } }, BOB)).status).toBe(200);
  });

  it("is there for agents of this server where disclosure is for the authenticated", async () => {
    const identity = { unknown_agents: "accept" };
    const { ask } = await open({
      agents: { disclosure: "authenticated" },
      policies: { identity },
    });
    const statuses = [undefined, STRANGER, ALICE].map(async (caller) => {
      const reply = await ask({ path: "/agents/bob" }, caller);
      return reply.status;
    });
    expect(await Promise.all(statuses)).toEqual([404, 404, 200]);
  });

  it("is not the default for those who may not learn of it: that is the server", async () => {
    const { ask } = await open({ agents: { disclosure: "private", default: "bob" } });
    expect(resultOf(await ask({}))).toMatchObject({ server_id: "test" });
  });
});

// AGTP "Agent Identity Document", AGTP "URI Forms"
describe("the identity document", () => {
  it.each([
    [{ headers: { Accept: IDENTITY_JSON } }, IDENTITY_JSON],
    [{ query: "format=json" }, IDENTITY_JSON],
    [{ body: { format: "json" } }, IDENTITY_JSON],
    [{ headers: { Accept: IDENTITY_YAML } }, IDENTITY_YAML],
    [{ headers: { Accept: "application/yaml" } }, IDENTITY_YAML],
    [{ query: "format=yaml" }, IDENTITY_YAML],
    [{ headers: { Accept: "text/html" } }, "text/html; charset=utf-8"],
    [{ query: "format=html" }, "text/html; charset=utf-8"],
    [{ query: "format=manifest" }, "text/html; charset=utf-8"],
    [{ query: "format=json", headers: { Accept: "text/html" } }, IDENTITY_JSON],
  ])("answers DESCRIBE with %j as %s", async (request, contentType) => {
    const { ask } = await open();
    for (const path of ["/", "/agents/alice"]) {
      const reply = await ask({ path, ...request }, ALICE);
      expect(reply.status).toBe(200);
      expect(reply.headers.get("content-type")).toBe(contentType);
    }
  });

  it("is bare and as it was loaded, in JSON and in YAML", async () => {
    const text = agentFile({ agent_id: BOB, name: "bob", extra: { z: 1, a: ["ü", null] } });
    const { ask } = await open({}, { "agents/bob.agent.json": text });
    expect((await ask({ query: "format=json" }, BOB)).text).toBe(text);
    expect(parse((await ask({ query: "format=yaml" }, BOB)).text)).toEqual(JSON.parse(text));
  });

  it.each(["FETCH", "QUERY", "GET"])("is what %s reads", async (method) => {
    const { ask } = await open();
    const reply = await ask({ method, path: "/agents/bob" }, ALICE);
    expect(reply.status).toBe(200);
    expect(reply.headers.get("content-type")).toBe(IDENTITY_JSON);
    expect(reply.body).toMatchObject({ agent_id: BOB });
    const page = await ask({ method, path: "/agents/bob", headers: { Accept: "text/html" } });
    expect(page.text).toMatch(/^<!doctype html>/);
  });

  it("is open to callers without an Agent-ID, as discovery is", async () => {
    const { ask } = await open();
    expect((await ask({ method: "FETCH", path: "/agents/bob" })).status).toBe(200);
    const { ask: askClosed } = await open({ policies: { anonymous_discovery: false } });
    const { status, body } = await askClosed({ method: "FETCH", path: "/agents/bob" });
    expect(status).toBe(262);
    expect(body).toMatchObject({ type: "anonymous-discovery-disabled" });
  });

  it("has no Genesis to show where none was loaded", async () => {
    const { ask } = await open();
    const { status, body } = await ask({ path: "/agents/bob", query: "format=certificate" });
    expect(status).toBe(404);
    expect(body).toMatchObject({ error: { code: "genesis-not-found" } });
  });

  it.each(["xml", "JSON", "", "__proto__"])("does not come as %j", async (format) => {
    const { ask } = await open();
    for (const method of ["DESCRIBE", "FETCH", "QUERY"]) {
      const reply = await ask({ method, path: "/agents/bob", query: `format=${format}` });
      expect(reply.status).toBe(422);
    }
  });

  it("does not come by other methods", async () => {
    const { ask } = await open();
    const { status, body } = await ask({ method: "BOOK", path: "/agents/bob" }, ALICE);
    expect(status).toBe(405);
    expect(body).toMatchObject({
      allowed_methods_for_path: expect.arrayContaining(["DESCRIBE", "FETCH", "QUERY"]),
    });
  });
});

// AGTP "Status Sub-Resource"
describe("the status document", () => {
  it.each([
    { path: "/agents/bob/status" },
    { path: "/agents/bob/status", method: "FETCH" },
    { path: "/agents/bob/status", method: "QUERY" },
    { path: "/agents/bob", query: "format=status" },
    { path: "/", body: { agent_id: "bob", format: "status" } },
  ])("answers %j", async (request) => {
    const { ask } = await open({});
    const { status, body } = await ask(request);
    expect(status).toBe(200);
    expect(body).toEqual({
      document_type: "agtp-status",
      canonical_id: BOB,
      agent_label: "bob",
      lifecycle_state: "active",
      generated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
  });
});

// AGTP "Agent Lifecycle"
describe("the live state of an agent", () => {
  const policies = { identity: { lifecycle_auth: "open" } };

  it("is in the capability and the status document, not in the identity document", async () => {
    const { ask } = await open({ policies });
    const before = await ask({ path: "/agents/bob", query: "format=json" });
    const change = { method: "DEACTIVATE", body: { agent_id: BOB, reason: "test" } };
    expect((await ask(change, ALICE)).status).toBe(200);
    expect(resultOf(await ask({ path: "/agents/bob" }))).toMatchObject({ status: "suspended" });
    expect((await ask({ path: "/agents/bob/status" })).body).toMatchObject({
      lifecycle_state: "suspended",
      lifecycle_state_since: expect.stringMatching(/Z$/),
    });
    expect((await ask({ path: "/agents/bob", query: "format=json" })).text).toBe(before.text);
    expect((await ask({ path: "/agents/bob", query: "format=html" })).text).toContain(
      '<li class="suspended">suspended</li>',
    );
  });

  it.each([
    ["DEACTIVATE", 503, "agent-suspended"],
    ["REVOKE", 410, "agent-retired"],
    ["DEPRECATE", 200, undefined],
  ])("after %s lets FETCH and QUERY answer %i", async (method, expected, code) => {
    const { ask } = await open({ policies });
    await ask({ method, body: { agent_id: BOB, reason: "test" } }, ALICE);
    for (const reading of ["FETCH", "QUERY"]) {
      const { status, body } = await ask({ method: reading, path: "/agents/bob" }, ALICE);
      expect(status).toBe(expected);
      if (code !== undefined) expect(body).toMatchObject({ error: { code } });
      const standing = await ask({ method: reading, path: "/agents/bob/status" }, ALICE);
      expect(standing.status).toBe(200);
    }
    expect((await ask({ path: "/agents/bob" }, ALICE)).status).toBe(200);
  });
});

describe("whatever is asked", () => {
  it("is answered, and never a fault", async () => {
    const { server, ask } = await open();
    const request = fc.record({
      method: fc.constantFrom("DESCRIBE", "FETCH", "QUERY"),
      path: fc.constantFrom("/agents/bob", "/agents/x", "/agents/bob/status", "/agents/%00"),
      body: fc.dictionary(
        fc.constantFrom("agent", "agent_id", "capability_domains", "version_min", "format", "x"),
        fc.jsonValue({ maxDepth: 2 }),
      ),
      headers: fc.record({ Accept: fc.stringMatching(/^[!-~][ -~]{0,80}[!-~]$/) }),
    });
    await fc.assert(
      fc.asyncProperty(request, async (one) => {
        expect([200, 404, 422]).toContain((await ask(one, ALICE)).status);
      }),
    );
    expect(server.faults).toEqual([]);
  });
});

describe("an operator's endpoint on an agent's path", () => {
  it.each(["/agents/{id}", "/agents/bob"])("at %s takes the place of ours", async (path) => {
    const properties = path.includes("{") ? { id: { type: "string" } } : {};
    const { server, ask } = await open(
      { policies: { scope_required_for_invocation: false } },
      { "endpoints/agents.toml": endpointFile({ method: "QUERY", path, properties }) },
    );
    expect(server.problems).toEqual([]);
    const reply = await ask({ method: "QUERY", path: "/agents/bob" }, ALICE);
    expect(reply.body).toMatchObject({ method: "QUERY", path: "/agents/bob" });
    const fetched = await ask({ method: "FETCH", path: "/agents/bob" }, ALICE);
    expect(fetched.headers.get("content-type")).toBe(IDENTITY_JSON);
  });
});

describe("a composition", () => {
  it("may ask for a description, whatever its caller accepts", async () => {
    const server = await openServer({
      "agtp-server.toml": configFile(),
      "agents/alice.agent.json": agentFile({ agent_id: ALICE, name: "alice" }),
      "handlers.mjs": `
        export const echo = async (call) => {
          const { status, body } = await call.dispatch("DESCRIBE", "/", { agent_id: "alice" });
          return { body: { status, described: body } };
        };
      `,
      "endpoints/ask.toml": endpointFile({ method: "EXECUTE", path: "/asks" }),
    });
    const headers = { "Agent-ID": ALICE, Accept: "text/html" };
    const { body } = await server.send({ method: "EXECUTE", path: "/asks", headers });
    expect(body).toMatchObject({ status: 200, described: { result: { agent_id: ALICE } } });
  });
});

const AGENT_ID = "a".repeat(64);
const NOW = Date.UTC(2030, 0, 1);

function describeStatus(
  members: Readonly<Record<string, unknown>>,
  standing: Partial<AgentStanding> = {},
) {
  const text = agentFile({ agent_id: AGENT_ID, name: "alice", ...members });
  const { document } = readAgentFile(text, "alice.agent.json");
  if (document === undefined) throw new Error("the document is not good");
  const idle: AgentStanding = {
    statusOf: ({ status }) => status,
    statusSince: () => undefined,
    migrationOf: () => undefined,
    lastAction: () => Promise.resolve(undefined),
  };
  return statusDocument(document, { ...idle, ...standing }, () => NOW);
}

// AGTP "Status Sub-Resource"
describe("statusDocument", () => {
  it("leaves out what is not known", async () => {
    expect(await describeStatus({ org_domain: 7, cert_status: null })).toEqual({
      document_type: "agtp-status",
      canonical_id: AGENT_ID,
      agent_label: "alice",
      lifecycle_state: "active",
      generated_at: "2030-01-01T00:00:00.000Z",
    });
  });

  it("says how the agent stands, since when, and what it did last", async () => {
    const document = await describeStatus(
      { org_domain: "acme.example", cert_status: "valid" },
      {
        statusOf: () => "suspended",
        statusSince: () => "2029-12-31T00:00:00.000Z",
        lastAction: async (agentId) =>
          agentId === AGENT_ID ? { method: "BOOK", at: NOW } : undefined,
      },
    );
    expect(document).toEqual({
      document_type: "agtp-status",
      canonical_id: AGENT_ID,
      agent_label: "alice",
      org_domain: "acme.example",
      lifecycle_state: "suspended",
      lifecycle_state_since: "2029-12-31T00:00:00.000Z",
      cert_status: "valid",
      last_action_method: "BOOK",
      last_action_timestamp: "2030-01-01T00:00:00.000Z",
      generated_at: "2030-01-01T00:00:00.000Z",
    });
  });
});
