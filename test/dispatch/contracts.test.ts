import { describe, expect, it } from "vitest";
import { openServer, type TestReply, type TestServer } from "../support/dispatch.ts";
import {
  AUDIT,
  ask,
  JUDGE,
  NORA,
  negotiationFiles,
  OPAL,
  OPT_IN,
  OTTO,
  offerOf,
  presenting,
  propose,
  SEMANTIC,
} from "../support/negotiation.ts";
import { recordOf } from "../support/records.ts";

const STRANGER = "9".repeat(64);
const FIELDS = ["synthesis_id", "contract_hash", "negotiation_origin"];

function open(policies: object = {}, tables: Readonly<Record<string, object>> = {}) {
  return openServer(negotiationFiles({ policies, ...tables }));
}

const RCNS = { enabled: true, min_trust_tier: 2, rate_limit_per_minute: 1000 };
const OPTIMISTIC = { rcns: { ...RCNS, mode: "optimistic" } };

/** The members of the record that only an action under a contract has. */
function contractFields(reply: TestReply): readonly string[] {
  return FIELDS.filter((name) => Object.hasOwn(recordOf(reply).payload, name));
}

async function eventsOf(server: TestServer, agentId: string): Promise<readonly unknown[]> {
  const inspect = { method: "INSPECT", body: { target: "lifecycle", agent_id: agentId } };
  const { body } = await ask(server, agentId, inspect);
  const events = body["result"]?.["events"] as unknown as readonly { payload: object }[];
  return events.map(({ payload }) => payload);
}

// AGTP-API §10.1.6
describe("the fields of a contract in the record", () => {
  it("are on every action under one, whether it succeeds or not, and on nothing else", async () => {
    const server = await open();
    const offer = await ask(server, NORA, AUDIT, OPT_IN);
    const id = String(offer.body["synthesis_id"]);
    const served = await ask(server, NORA, AUDIT, presenting(id));
    const bare = await ask(server, NORA, AUDIT);
    expect([served, bare].map(({ status }) => status)).toEqual([200, 200]);
    for (const reply of [served, bare]) {
      expect(contractFields(reply)).toEqual(FIELDS);
      expect(recordOf(reply).payload).toMatchObject({
        synthesis_id: id,
        contract_hash: offer.body["contract_hash"],
        negotiation_origin: "rcns-gate",
      });
      expect(reply.headers.get("contract-synthesized")).toBe(id);
    }
    const wrong = { ...AUDIT, body: { subject: "barn", colour: "red" } };
    const refused = await ask(server, NORA, wrong, presenting(id));
    const narrow = { ...presenting(id), "Authority-Scope": "rcns:negotiate" };
    const outside = await ask(server, NORA, AUDIT, narrow);
    const stolen = await ask(server, OTTO, AUDIT, presenting(id));
    const plain = await ask(server, NORA, { method: "QUERY", path: "/facts", body: AUDIT.body });
    expect([refused, outside, stolen, plain].map(({ status }) => status)).toEqual([
      422, 455, 464, 200,
    ]);
    for (const reply of [offer, refused, outside, stolen, plain]) {
      expect(contractFields(reply)).toEqual([]);
      expect(reply.headers.has("contract-synthesized")).toBe(false);
    }
  });

  it("are there when a step fails, and so is the header", async () => {
    const server = await openServer({
      ...negotiationFiles({ policies: OPTIMISTIC }),
      "handlers.mjs": `
        export const facts = () => ({ body: { facts: [] } });
        export { facts as verdict, facts as place };`,
    });
    const failed = await ask(server, NORA, AUDIT, OPT_IN);
    expect(failed).toMatchObject({
      status: 422,
      body: { error: { code: "composition_failed", details: { step: 1, status: 500 } } },
    });
    expect(contractFields(failed)).toEqual(FIELDS);
    const id = failed.headers.get("contract-synthesized") ?? "";
    const again = await ask(server, NORA, AUDIT, presenting(id));
    expect(again).toMatchObject({ status: 422, body: { error: { code: "composition_failed" } } });
  });
});

// AGTP-API §12.1
describe("an answer that is not what the agent asked for", () => {
  it("is told with what is wrong with it, since the steps have done their work", async () => {
    const server = await open();
    const verdict = { type: "string", maxLength: 3 };
    const output_schema = { type: "object", required: ["verdict"], properties: { verdict } };
    const endpoint = { ...JUDGE, output_schema };
    expect(await ask(server, NORA, propose(endpoint))).toMatchObject({ status: 263 });
    const request = { method: String(JUDGE["method"]), path: String(JUDGE["path"]) };
    const reply = await ask(server, NORA, { ...request, body: { subject: "barn" } });
    expect(reply).toMatchObject({
      status: 422,
      body: {
        error: {
          code: "composition_failed",
          details: {
            status: 200,
            error: { code: "output-validation-failed", errors: [{ path: "/verdict" }] },
            outputs: { answer: { verdict: "2 facts" } },
          },
        },
      },
    });
    expect(contractFields(reply)).toEqual(FIELDS);
  });
});

// AGTP-LOG "Lifecycle Stream"
describe("the acceptance of a contract", () => {
  it("is an event of its agent's stream, and only when it is accepted", async () => {
    const server = await open();
    const id = await offerOf(server, NORA);
    expect(await eventsOf(server, NORA)).toEqual([]);
    await ask(server, NORA, AUDIT, presenting(id));
    await ask(server, NORA, AUDIT, presenting(id));
    expect(await eventsOf(server, NORA)).toEqual([
      expect.objectContaining({
        event_type: "rcns_propose_accepted",
        synthesis_id: id,
        actor_agent_id: NORA,
      }),
    ]);
    const approved = await ask(server, NORA, propose(JUDGE));
    expect((await eventsOf(server, NORA))[0]).toMatchObject({
      event_type: "rcns_propose_accepted",
      synthesis_id: approved.body["synthesis_id"],
      negotiation_origin: "propose",
      response_id: approved.headers.get("response-id"),
    });
  });

  it("is one when the contract is run at once", async () => {
    const server = await open(OPTIMISTIC);
    const served = await ask(server, NORA, AUDIT, OPT_IN);
    expect(await eventsOf(server, NORA)).toEqual([
      expect.objectContaining({
        event_type: "rcns_propose_accepted",
        synthesis_id: served.headers.get("contract-synthesized"),
      }),
    ]);
  });

  it("is one event, however many present it at once", async () => {
    const server = await open();
    const id = await offerOf(server, NORA);
    const asked = Array.from({ length: 50 }, () => ask(server, NORA, AUDIT, presenting(id)));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses).toEqual(Array(50).fill(200));
    expect(await eventsOf(server, NORA)).toHaveLength(1);
  });
});

// AGTP-API §10.1.4
describe("an offered contract", () => {
  it.each([
    ["released", NORA, { method: "SUSPEND" }],
    ["revoked", OPAL, { method: "REVOKE", target: "contract" }],
  ])("can be %s before it is accepted", async (state, agentId, { method, ...target }) => {
    const server = await open();
    const id = await offerOf(server, NORA);
    const body = { ...target, synthesis_id: id, reason: "not wanted", actor: "ops-desk" };
    const ended = await ask(server, agentId, { method, body });
    expect(ended).toMatchObject({ status: 200, body: { result: { status: state } } });
    const presented = await ask(server, NORA, AUDIT, presenting(id));
    expect(presented).toMatchObject({
      status: 464,
      body: { reason: "contract-revoked", explanation: `the contract is ${state}: not wanted` },
    });
    const [event] = await eventsOf(server, NORA);
    expect(event).toMatchObject({ actor: "ops-desk", actor_agent_id: agentId });
  });
});

// AGTP-API §10.1.5
describe("an Idempotency-Key", () => {
  const key = { "Idempotency-Key": "k-1" };

  it("gets the same offer again, without another evaluation", async () => {
    const server = await open({ rcns: { ...RCNS, rate_limit_per_minute: 1 } });
    const first = await ask(server, NORA, AUDIT, { ...OPT_IN, ...key });
    const second = await ask(server, NORA, AUDIT, { ...OPT_IN, ...key });
    expect(second).toMatchObject({ status: 461, body: first.body });
    expect((await ask(server, NORA, AUDIT, OPT_IN)).status).toBe(429);
  });

  it("is kept when the request is sent again to accept what was offered, and runs once", async () => {
    const server = await open();
    const offer = await ask(server, NORA, AUDIT, { ...OPT_IN, ...key });
    const id = String(offer.body["synthesis_id"]);
    const other = await offerOf(server, NORA);
    const accept = { ...OPT_IN, ...key, ...presenting(id) };
    const served = await ask(server, NORA, AUDIT, accept);
    expect(served).toMatchObject({ status: 200, body: { verdict: "2 facts" } });
    expect(served.headers.has("idempotency-replayed")).toBe(false);
    const replayed = await ask(server, NORA, AUDIT, accept);
    expect(replayed).toMatchObject({ status: 200, body: served.body });
    expect(replayed.headers.get("idempotency-replayed")).toBe("true");
    expect(contractFields(replayed)).toEqual([]);
    const reused = await ask(server, NORA, AUDIT, { ...accept, ...presenting(other) });
    expect(reused).toMatchObject({
      status: 409,
      body: { error: { code: "idempotency-key-reuse" } },
    });
  });

  it("runs once what is run at once", async () => {
    const server = await open(OPTIMISTIC);
    const first = await ask(server, NORA, AUDIT, { ...OPT_IN, ...key });
    const second = await ask(server, NORA, AUDIT, { ...OPT_IN, ...key });
    expect(second.headers.get("idempotency-replayed")).toBe("true");
    const id = first.headers.get("contract-synthesized");
    expect(second.headers.get("contract-synthesized")).toBe(id);
    expect(await eventsOf(server, NORA)).toHaveLength(1);
  });

  it("is not spent on a negotiation that had to wait", async () => {
    const server = await open({ rcns: { ...RCNS, rate_limit_per_minute: 1 } });
    await offerOf(server, NORA);
    for (let round = 0; round < 2; round += 1) {
      const limited = await ask(server, NORA, AUDIT, { ...OPT_IN, ...key });
      expect(limited).toMatchObject({ status: 429, body: { scope: "rcns" } });
      expect(limited.headers.has("idempotency-replayed")).toBe(false);
    }
  });
});

// AGTP-API §10.1.2
describe("a stranger who is believed", () => {
  const identity = { unknown_agents: "accept", unknown_trust_tier: 1, inspect_acl: "public" };
  const claim = { "Authority-Scope": "rcns:negotiate, facts:read, inspect:all" };

  it("negotiates nothing, and makes the server keep nothing", async () => {
    const server = await open({ identity });
    const negotiated = await ask(server, STRANGER, AUDIT, { ...OPT_IN, ...claim });
    expect(negotiated).toMatchObject({ status: 464, body: { reason: "trust-tier-insufficient" } });
    const proposed = await ask(server, STRANGER, propose(JUDGE), claim);
    expect(proposed).toMatchObject({ status: 262, body: { type: "credentials-missing" } });
    expect((await ask(server, STRANGER, propose({ ...JUDGE, method: "X" }), claim)).status).toBe(
      459,
    );
    expect(await server.state.store.list("contracts")).toEqual([]);
    expect(await server.state.store.list("proposals")).toEqual([]);
  });

  it("is no operator because it says so", async () => {
    const server = await open({ identity });
    const id = await offerOf(server, NORA);
    await ask(server, NORA, AUDIT, presenting(id));
    const list = { method: "DISCOVER", path: "/contracts" };
    expect((await ask(server, STRANGER, list, claim)).body).toEqual([]);
    expect((await ask(server, OPAL, list)).body).toHaveLength(1);
    for (const request of [
      { method: "INSPECT", body: { target: "contract", synthesis_id: id } },
      { method: "REVOKE", body: { target: "contract", synthesis_id: id } },
      { method: "REVOKE", body: { target: "stale-contracts", mode: "invalidate" } },
    ]) {
      expect((await ask(server, STRANGER, request, claim)).status).toBe(403);
    }
  });
});

// AGTP-API §10.1.4, AGTP "Agent Lifecycle"
describe("the contracts of an agent that may not act", () => {
  it("are refused with the agent, and come back with it", async () => {
    const identity = { lifecycle_auth: "open", inspect_acl: "public" };
    const server = await open({ identity });
    const id = await offerOf(server, NORA);
    const change = (method: string) =>
      ask(server, OPAL, { method, body: { agent_id: NORA, reason: "test" } });
    await change("DEACTIVATE");
    expect((await ask(server, NORA, AUDIT, presenting(id))).status).toBe(503);
    await change("REINSTATE");
    expect((await ask(server, NORA, AUDIT, presenting(id))).status).toBe(200);
    await change("DEACTIVATE");
    expect((await ask(server, NORA, AUDIT)).status).toBe(503);
    await change("REVOKE");
    expect((await ask(server, NORA, AUDIT, presenting(id))).status).toBe(410);
  });

  it("cannot be reached under a method that a suspended agent may still use", async () => {
    const identity = { lifecycle_auth: "open", inspect_acl: "public" };
    const server = await open({ identity });
    const sly = { ...JUDGE, method: "DESCRIBE", path: "/verdicts" };
    expect((await ask(server, NORA, propose(sly))).status).toBe(263);
    await ask(server, OPAL, { method: "DEACTIVATE", body: { agent_id: NORA, reason: "test" } });
    const request = { method: "DESCRIBE", path: "/verdicts", body: { subject: "barn" } };
    const reply = await ask(server, NORA, request);
    expect(reply).toMatchObject({ status: 422, body: { error: { details: { status: 503 } } } });
  });
});

// AGTP-API §10.1.2
describe("what runs under a contract", () => {
  it("makes no other contract, neither by its pair nor by proposing", async () => {
    const server = await openServer({
      ...negotiationFiles(),
      "handlers.mjs": `
        export const facts = async (call) => {
          const endpoint = JSON.parse(call.input.subject);
          const proposed = await call.dispatch("PROPOSE", "/", { endpoint });
          const bare = await call.dispatch("AUDIT", "/reviews", { subject: "x" });
          const facts = [String(proposed.status), String(bare.status)];
          return { body: { facts, about: proposed.body.reason ?? "none" } };
        };
        export const verdict = ({ input }) => ({ body: { verdict: input.facts.join(" ") } });
        export { facts as place };`,
    });
    const body = { subject: JSON.stringify(JUDGE) };
    const outside = await ask(server, NORA, { method: "QUERY", path: "/facts", body });
    expect(outside.body).toMatchObject({ facts: ["263", "404"] });
    const id = await offerOf(server, NORA);
    const inside = await ask(server, NORA, { ...AUDIT, body }, presenting(id));
    expect(inside.body).toMatchObject({ verdict: "463 404", about: "policy-refused" });
  });
});

// AGTP-API §10.1.3, §16.1
describe("what was only found to fit", () => {
  const order = { method: "CREATE", path: "/purchases", body: { item: "hay" } };

  it("is shown before it is run where it changes anything, in the optimistic mode too", async () => {
    const server = await open(OPTIMISTIC);
    const offer = await ask(server, NORA, order, OPT_IN);
    expect(offer).toMatchObject({
      status: 461,
      body: {
        endpoint: { semantic: { impact: "irreversible" } },
        recipe_lineage: null,
        contract: { plan_summary: ["CREATE /orders"] },
      },
    });
    const id = String(offer.body["synthesis_id"]);
    const served = await ask(server, NORA, order, presenting(id));
    expect(served).toMatchObject({ status: 200, body: { placed: "hay" } });
  });

  it("promises no less than its steps may leave behind", async () => {
    const server = await open();
    const endpoint = {
      ...JUDGE,
      method: "ORDER",
      path: "/purchases",
      semantic: { ...SEMANTIC, impact: "irreversible", is_idempotent: true },
      input_schema: {
        type: "object",
        properties: { item: { type: "string" } },
        required: ["item"],
      },
      output_schema: { type: "object", properties: { placed: { type: "string" } } },
    };
    expect((await ask(server, NORA, propose(endpoint))).body).toMatchObject({
      endpoint: { semantic: { impact: "irreversible", is_idempotent: false } },
    });
  });
});

// AGTP-API §10.1.2
describe("a request that nothing could be made for", () => {
  it.each([
    ["too many parameters", { ...AUDIT, body: manyNames(300) }, "parameters"],
    ["names that are too long", { ...AUDIT, body: { subject: 1, ["x".repeat(70_000)]: 1 } }, ""],
    [
      "a pair of the protocol's own",
      { method: "DISCOVER", path: "/toolset", body: {} },
      "reserved",
    ],
  ])("is refused for %s, and nothing is kept", async (_, request, said) => {
    const server = await open();
    const reply = await ask(server, NORA, request, OPT_IN);
    expect(reply).toMatchObject({ status: 464, body: { reason: "composition-impossible" } });
    expect(String(reply.body["explanation"])).toContain(said);
    expect(await server.state.store.list("contracts")).toEqual([]);
  });

  it("negotiates over names that mean something to an engine, as over any other", async () => {
    const server = await open();
    const names = '"subject": "barn", "constructor": 2, "toString": 3, "hasOwnProperty": 4';
    const request = { ...AUDIT, body: `{${names}}` };
    const offer = await ask(server, NORA, request, OPT_IN);
    expect(offer.status).toBe(461);
    const id = String(offer.body["synthesis_id"]);
    expect((await ask(server, NORA, request, presenting(id))).status).toBe(200);
    const prototype = { ...AUDIT, body: `{${names}, "__proto__": {"subject": 1}}` };
    expect((await ask(server, OTTO, prototype, OPT_IN)).status).toBe(464);
    expect((await ask(server, NORA, prototype, presenting(id))).status).toBe(422);
    expect(Object.hasOwn(Object.prototype, "subject")).toBe(false);
  });
});

function manyNames(count: number): object {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, index]));
}

// AGTP-API §10.8
describe("an endpoint that was negotiated to stay", () => {
  const MANIFEST_TYPE = "application/vnd.agtp.manifest+json";
  const ITS_PAIR = expect.objectContaining({ method: JUDGE["method"], path: JUDGE["path"] });

  async function listsOf(server: TestServer, agentId: string): Promise<readonly unknown[][]> {
    const discover = { method: "DISCOVER", path: "/" };
    const manifest = await ask(server, agentId, discover, { Accept: MANIFEST_TYPE });
    const methods = await ask(server, agentId, { ...discover, path: "/methods" });
    return [manifest.body["endpoints"], methods.body] as unknown as readonly unknown[][];
  }

  it("is in its agent's manifest and inventory, in nobody else's, and for as long as it lasts", async () => {
    const server = await open();
    await ask(server, NORA, propose(JUDGE));
    for (const list of await listsOf(server, NORA)) expect(list).not.toContainEqual(ITS_PAIR);
    const lasting = await ask(server, NORA, propose(JUDGE, { persistent: true }));
    const [endpoints, methods] = await listsOf(server, NORA);
    expect(endpoints).toContainEqual(
      expect.objectContaining({ path: JUDGE["path"], handler: { type: "composition" } }),
    );
    expect(methods).toContainEqual(expect.objectContaining({ path: JUDGE["path"], tier: "C" }));
    for (const other of [OTTO, OPAL]) {
      for (const list of await listsOf(server, other)) expect(list).not.toContainEqual(ITS_PAIR);
    }
    const synthesis_id = String(lasting.body["synthesis_id"]);
    await ask(server, NORA, { method: "SUSPEND", body: { synthesis_id } });
    for (const list of await listsOf(server, NORA)) expect(list).not.toContainEqual(ITS_PAIR);
  });
});
