/** QUERY: what is asked, what is answered, and to whom. */
import { describe, expect, it } from "vitest";
import { FLOOR_METHODS } from "../../../src/catalog/catalog.ts";
import { configFile, endpointFile } from "../../support/deployment.ts";
import { discoveryFiles } from "../../support/discovery.ts";
import { openServer, shareServer } from "../../support/dispatch.ts";
import {
  JUDGE,
  NORA,
  ask as negotiate,
  negotiationFiles,
  OPAL,
  OTTO,
  propose,
} from "../../support/negotiation.ts";
import { ask, query, sourcesOf } from "../../support/querying.ts";
import { CLERK, corpusFiles, GUEST } from "../../support/search-corpus.ts";

const server = shareServer(
  corpusFiles({ apis: [{ name: "desk", description: "The HTTP desk." }] }),
);
const clerk = { agent: CLERK };

// AGTP "QUERY"
describe("QUERY", () => {
  it("answers with all it takes to call what it found", async () => {
    const { body } = await ask(server(), "QUERY", { intent: "refund a payment" }, clerk);
    expect(body).toMatchObject({ status: 200 });
    const [first] = await query(server(), { intent: "refund a payment" }, clerk);
    expect(first).toEqual({
      rank: 1,
      kind: "endpoint",
      source: "endpoint:REFUND /payments/{payment_id}",
      confidence: 1,
      method: "REFUND",
      path: "/payments/{payment_id}",
      content: {
        method: "REFUND",
        path: "/payments/{payment_id}",
        description: "Returns money for a payment, in full or in part.",
        namespace: "billing",
        semantic: expect.objectContaining({ impact: "irreversible", actor: "agent" }),
        input_schema: expect.objectContaining({ required: ["payment_id"] }),
        output_schema: { type: "object" },
        errors: [],
        handler: { type: "registered_function" },
        required_scopes: ["billing:write"],
        tier: "B",
        callable: true,
        missing_scopes: [],
        obstacles: [],
        example: { method: "REFUND", path: "/payments/AA-111111", body: {} },
      },
    });
  });

  it("shows how to call the floor: its examples are well-formed", async () => {
    const own = await openServer(corpusFiles());
    const filter = { path: "/", tier: "A" };
    const found = await query(own, { intent: "*", filter, max_results: 100 }, clerk);
    const floor = found.filter(({ path }) => path === "/");
    expect(floor).toHaveLength(FLOOR_METHODS.length + 1);
    for (const { method, content } of floor) {
      const { example } = content;
      if (example === undefined) throw new Error(`${method} has no example`);
      const reply = await own.send({ ...example, headers: { "Agent-ID": CLERK } });
      const code = reply.body["error"]?.["code"];
      expect(reply.status, `${method} ${reply.text}`).not.toBe(400);
      expect(code, `${method} ${reply.text}`).not.toBe("schema-validation-failed");
    }
  });

  it.each([
    ["continue a suspended session", "RESUME /"],
    ["what is in my inbox", "QUERY /inbox"],
    ["decide an escalation", "CONFIRM /escalations/{escalation_id}"],
    ["which escalations wait for a decision", "QUERY /escalations"],
  ])("knows the protocol beyond the floor: %s", async (intent, pair) => {
    const [first] = await query(server(), { intent }, clerk);
    expect(first?.source).toBe(`endpoint:${pair}`);
    expect(first?.content.example).toBeDefined();
  });

  it("echoes the task of an envelope, and counts its results", async () => {
    const parameters = { intent: "invoice", max_results: 1 };
    const body = { method: "QUERY", task_id: "t-9", parameters };
    const reply = await ask(server(), "QUERY", body, clerk);
    expect(reply.body).toMatchObject({
      status: 200,
      task_id: "t-9",
      result: { intent: "invoice", result_count: 1, has_more: true, format: "structured" },
    });
  });

  it("takes its parameters from the query string, too", async () => {
    const reply = await server().send({
      method: "QUERY",
      query: "intent=weather&max_results=1&scope=endpoints&confidence_threshold=0.5",
    });
    expect(reply.body["result"]).toMatchObject({
      result_count: 1,
      sources: ["endpoint"],
      results: [{ method: "FORECAST" }],
    });
  });

  it("takes the other names of its parameters", async () => {
    const results = await query(server(), { query: "weather", limit: 1 }, clerk);
    expect(results.map(({ method }) => method)).toEqual(["FORECAST"]);
  });

  it("answers a question as an object, and takes its conditions as such", async () => {
    const intent = { goal: "see invoices", namespace: "billing", method: "LIST" };
    expect(await sourcesOf(server(), { intent }, clerk)).toEqual(["endpoint:LIST /invoices"]);
  });

  it("is all there is for *", async () => {
    const kinds = (await query(server(), { intent: "*", max_results: 100 }, clerk)).map(
      ({ kind }) => kind,
    );
    expect(new Set(kinds)).toEqual(new Set(["endpoint", "agent", "api"]));
    expect(kinds.length).toBeGreaterThan(20);
  });

  it("is 200 and no results where there are none", async () => {
    const reply = await ask(server(), "QUERY", { intent: "zxqv" }, clerk);
    expect(reply.status).toBe(200);
    expect(reply.body["result"]).toMatchObject({ results: [], result_count: 0, has_more: false });
  });

  it.each<readonly [object, string]>([
    [{}, ""],
    [{ intent: "" }, "/intent"],
    [{ intent: {} }, "/intent"],
    [{ intent: 7 }, "/intent"],
    [{ intent: ["a"] }, "/intent"],
    [{ intent: "x".repeat(1025) }, "/intent"],
    [{ intent: { a: "x".repeat(1025) } }, "/intent"],
    [{ intent: { a: Array.from({ length: 500 }, () => "a") } }, "/intent"],
    [{ intent: { goal: "x", method: 7 } }, "/intent/method"],
    [{ intent: "x", format: "xml" }, "/format"],
    [{ intent: "x", confidence_threshold: 1.1 }, "/confidence_threshold"],
    [{ intent: "x", confidence_threshold: "high" }, "/confidence_threshold"],
    [{ intent: "x", max_results: 0 }, "/max_results"],
    [{ intent: "x", max_results: 1.5 }, "/max_results"],
    [{ intent: "x", scope: 7 }, "/scope"],
    [{ intent: "x", filter: "room" }, "/filter"],
    [{ intent: "x", filter: { colour: "red" } }, "/filter"],
    [{ intent: "x", filter: { tier: 9 } }, "/filter/tier"],
    [{ intent: "x", context: "y" }, "/context"],
  ])("refuses %j", async (body, path) => {
    const { status, body: answer } = await ask(server(), "QUERY", body, clerk);
    expect(status).toBe(422);
    const errors = answer["error"]?.["details"]?.["errors"] as unknown as readonly object[];
    expect(errors[0]).toMatchObject({ path: expect.stringMatching(new RegExp(`^${path}`)) });
  });

  const LEDGER = { to_method: "CREATE", to_path: "/invoices" };

  it("finds nothing that the method policy refuses or sends elsewhere", async () => {
    const redirects = [{ from_method: "SCHEDULE", from_path: "/meetings", ...LEDGER }];
    const policies = { methods: { disallow: ["REFUND", "INSPECT"], redirects } };
    const strict = await openServer(corpusFiles({ policies }));
    const found = await sourcesOf(strict, { intent: "*", max_results: 100 }, clerk);
    expect(found).toContain("endpoint:CREATE /invoices");
    const hidden = /^endpoint:(?:REFUND|INSPECT|SCHEDULE) /;
    expect(found.filter((source) => hidden.test(source))).toEqual([]);
    const refund = await sourcesOf(strict, { intent: "refund a payment" }, clerk);
    expect(refund.filter((source) => hidden.test(source))).toEqual([]);
  });

  it("is not for strangers where discovery is for identified agents", async () => {
    const closed = await openServer(corpusFiles({ policies: { anonymous_discovery: false } }));
    expect((await ask(closed, "QUERY", { intent: "room" })).status).toBe(262);
    expect((await ask(closed, "QUERY", { intent: "room" }, clerk)).status).toBe(200);
  });
});

describe("format", () => {
  it("natural is text that says how to call it", async () => {
    const body = { intent: "ship an order", format: "natural", max_results: 1 };
    const reply = await ask(server(), "QUERY", body, { agent: GUEST });
    const result = reply.body["result"] as unknown as {
      readonly answer: string;
      readonly results: readonly { readonly content: string }[];
    };
    const [first] = result.results;
    expect(first?.content).toMatch(/^SHIP \/orders\/\{order_id\}: Hands the goods/);
    expect(first?.content).toContain("order_id (string)");
    expect(first?.content).toContain("You cannot call it as you are: scope-violation");
    expect(first?.content).toContain("missing orders:ship");
    expect(first?.content).toContain("Example: SHIP /orders/AA-111111 {}");
    expect(result.answer).toContain(first?.content);
  });

  it("natural says when nothing was found", async () => {
    const body = { intent: "zxqv", format: "natural" };
    const { body: answer } = await ask(server(), "QUERY", body, clerk);
    expect(answer["result"]?.["answer"]).toContain("Nothing here answers that");
  });

  it("raw is what the manifest and the documents say, and nothing of the caller", async () => {
    const [endpoint] = await query(server(), { intent: "ship an order", format: "raw" }, clerk);
    const { body: manifest } = await server().send({ method: "DISCOVER" });
    expect(manifest["endpoints"]).toContainEqual(endpoint?.content);
    const [agent] = await query(server(), { intent: "clerk", format: "raw" }, clerk);
    expect(agent?.content).toMatchObject({ agent_id: CLERK, issuer: "https://test.example" });
  });
});

describe("scope", () => {
  it.each<readonly [unknown, RegExp]>([
    [["agents"], /^agent:/],
    ["agent", /^agent:/],
    ["Endpoints", /^endpoint:/],
    ["apis", /^api:/],
    ["apis, agents", /^(?:api|agent):/],
    [["billing"], /^endpoint:(?:CREATE|LIST|REFUND) \/(?:invoices|payments)/],
  ])("%j looks into nothing else", async (scope, expected) => {
    const found = await sourcesOf(server(), { intent: "*", scope, max_results: 100 }, clerk);
    expect(found.length).toBeGreaterThan(0);
    for (const source of found) expect(source).toMatch(expected);
  });

  // The draft's own example names sources that this server does not have.
  it("says which of its names mean nothing here", async () => {
    const body = { intent: "room", scope: ["documents:research", "agents"] };
    const { status, body: answer } = await ask(server(), "QUERY", body, clerk);
    expect(status).toBe(200);
    expect(answer["result"]).toMatchObject({
      sources: ["agent"],
      unknown_scope: ["documents:research"],
    });
  });
});

describe("confidence_threshold and max_results", () => {
  it("leave out what is less sure, and what is more than was asked for", async () => {
    const body = { intent: "open invoices of a customer", max_results: 100 };
    const all = await query(server(), body, clerk);
    const threshold = all[2]?.confidence ?? 0;
    const sure = await query(server(), { ...body, confidence_threshold: threshold }, clerk);
    expect(sure).toEqual(all.filter(({ confidence }) => confidence >= threshold));
    expect(await query(server(), { ...body, max_results: 2 }, clerk)).toEqual(all.slice(0, 2));
  });

  it("of 1 leaves what has every word", async () => {
    const body = { intent: "refund a payment", confidence_threshold: 1 };
    expect(await sourcesOf(server(), body, clerk)).toEqual([
      "endpoint:REFUND /payments/{payment_id}",
    ]);
  });

  it("never bring more than a hundred, or more than an answer holds", async () => {
    const properties = Object.fromEntries(
      Array.from({ length: 100 }, (_, at) => [`p${at}`, { type: "string", title: "x".repeat(80) }]),
    );
    const many = Array.from({ length: 150 }, (_, at): [string, string] => [
      `endpoints/e${at}.toml`,
      endpointFile({ method: "QUERY", path: `/lists/l${at}`, properties }),
    ]);
    const files = { ...discoveryFiles(), ...Object.fromEntries(many) };
    const big = await openServer(files);
    const reply = await ask(big, "QUERY", { intent: "test", max_results: 1_000_000 });
    const { results, has_more: hasMore } = reply.body["result"] as unknown as {
      readonly results: readonly object[];
      readonly has_more: boolean;
    };
    expect(hasMore).toBe(true);
    expect(results.length).toBeGreaterThan(10);
    expect(results.length).toBeLessThan(100);
    expect(reply.text.length).toBeLessThan(600_000);
    const raw = { intent: "*", filter: { tier: "A" }, max_results: 1_000_000 };
    expect((await ask(big, "QUERY", raw)).body["result"]).toMatchObject({ has_more: false });
  });
});

describe("filter", () => {
  const find = (filter: object, asker: object = clerk) =>
    sourcesOf(server(), { intent: "*", filter, max_results: 100 }, asker);

  it.each<readonly [object, readonly string[]]>([
    [{ method: "list" }, ["endpoint:LIST /invoices"]],
    [{ method: ["LIST", "SHIP"] }, ["endpoint:LIST /invoices", "endpoint:SHIP /orders/{order_id}"]],
    [{ path: "/rooms" }, ["endpoint:BOOK /rooms/{room_type}", "endpoint:QUERY /rooms"]],
    [{ path_prefix: "/weather" }, ["endpoint:FORECAST /weather"]],
    [{ namespace: "office" }, ["endpoint:SCHEDULE /meetings"]],
    [{ capability: "domain_spanning", tier: "B" }, ["endpoint:SCHEDULE /meetings"]],
    [{ tag: "weather" }, ["endpoint:FORECAST /weather"]],
    [{ impact: "reversible", namespace: "hotel" }, ["endpoint:BOOK /rooms/{room_type}"]],
    [{ kind: "api" }, ["api:desk"]],
    [{ kind: "agents", trust_tier_min: 2 }, [`agent:${CLERK}`]],
    [{ tier: 3 }, [`agent:${GUEST}`]],
    [{ scopes: ["billing:read", "booking:read"], kind: "agent" }, [`agent:${CLERK}`]],
    [{ is_idempotent: false, namespace: "logistics" }, ["endpoint:SHIP /orders/{order_id}"]],
    [{ deprecated: true }, []],
    [{ method: "LIST", kind: "agent" }, []],
    [{ namespace: "__proto__" }, []],
  ])("%j", async (filter, expected) => {
    expect(await find(filter)).toEqual(expected);
  });

  it("by callable is the caller's own", async () => {
    const filter = { callable: false, tier: "B" };
    expect(await find(filter)).toEqual([]);
    const withheld = await find(filter, { agent: GUEST });
    expect(withheld).toContain("endpoint:REFUND /payments/{payment_id}");
    expect(withheld).not.toContain("endpoint:FETCH /reservations/{reservation_id}");
    expect(await find({ callable: true, tier: "B" }, {})).toEqual([]);
  });

  it("by scopes is what can be called with these", async () => {
    const found = await find({ scopes: "booking:*", namespace: ["hotel", "billing"] });
    expect(found).toHaveLength(4);
    expect(found.every((source) => !source.includes("invoices"))).toBe(true);
  });
});

describe("what belongs to one caller", () => {
  it("is found by that caller alone: its contracts", async () => {
    const negotiating = await openServer(negotiationFiles());
    const { body } = await negotiate(negotiating, NORA, propose(JUDGE));
    const id = String(body["synthesis_id"]);
    const request = { intent: "contract", scope: ["contracts"] };
    const [own] = await query(negotiating, request, { agent: NORA });
    expect(own).toMatchObject({
      source: `contract:${id}`,
      content: { synthesis_id: id, headers: { "Contract-Synthesized": id }, tier: "C" },
    });
    for (const agent of [OTTO, OPAL])
      expect(await query(negotiating, request, { agent })).toEqual([]);
    expect(await query(negotiating, request)).toEqual([]);
  });

  it("is found by what it says, and not by the names of its members", async () => {
    const own = await openServer(corpusFiles());
    const content = { text: "the boat leaves at nine" };
    await ask(own, "NOTIFY", { recipient: CLERK, content }, { agent: GUEST });
    const context = { kind: "question", path: "/ferry" };
    await ask(own, "ESCALATE", { task_id: "t-1", reason: "scope_limit", context }, clerk);
    const said = { intent: "boat", format: "natural", max_results: 1 };
    const [boat] = await query(own, said, clerk);
    expect(boat?.content).toBe(`In inbox: the boat leaves at nine; ${GUEST} guest; informational`);
    const [ferry] = await sourcesOf(own, { intent: "ferry question" }, clerk);
    expect(ferry).toMatch(/^escalation:/);
    for (const source of await sourcesOf(own, { intent: "agents name text kind path" }, clerk)) {
      expect(source).not.toMatch(/^(?:inbox|escalation):/);
    }
  });

  it("is the agents, as far as they are disclosed to it", async () => {
    const request = { intent: "clerk", scope: ["agents"] };
    const stranger = "77".repeat(32);
    const identity = { unknown_agents: "accept" };
    for (const [disclosure, seenBy] of [
      ["public", [{}, clerk, { agent: stranger }]],
      ["authenticated", [clerk]],
      ["private", []],
    ] as const) {
      const tables = { agents: { disclosure }, policies: { identity } };
      const disclosing = await openServer({
        ...corpusFiles(),
        "agtp-server.toml": configFile(tables),
      });
      for (const asker of [{}, clerk, { agent: stranger }]) {
        const found = await sourcesOf(disclosing, request, asker);
        const isSeen = seenBy.some((one) => JSON.stringify(one) === JSON.stringify(asker));
        expect(found, disclosure).toEqual(isSeen ? [`agent:${CLERK}`] : []);
      }
    }
  });

  it("leaves no trace of what is withheld: confidences are those of a server without it", async () => {
    const hiding = await openServer(corpusFiles({ agents: { disclosure: "private" } }));
    const files = corpusFiles({ agents: { disclosure: "private" } });
    const { "agents/clerk.agent.json": _withheld, ...without } = files;
    const lacking = await openServer(without);
    const request = { intent: "clerk looks through back office invoices" };
    const asker = { agent: GUEST };
    expect(await query(hiding, request, asker)).toEqual(await query(lacking, request, asker));
  });
});
