import { describe, expect, it, vi } from "vitest";
import { createMemoryStore } from "../../src/state/memory-store.ts";
import { openState } from "../../src/state/state.ts";
import { StoreUnavailableError } from "../../src/state/store-fault.ts";
import { endpointFile } from "../support/deployment.ts";
import { openServer, type TestReply, type TestServer } from "../support/dispatch.ts";
import { BreakableJournal } from "../support/ledger.ts";
import {
  AUDIT,
  ask,
  JUDGE,
  NORA,
  negotiationFiles,
  OPAL,
  OPT_IN,
  OTTO,
  PIA,
  QUIN,
  ROSA,
  SEMANTIC,
} from "../support/negotiation.ts";
import { PATIENCE } from "../support/patience.ts";
import { recordOf } from "../support/records.ts";
import { openBreakableState } from "../support/state.ts";
import { alterStore } from "../support/store.ts";

async function negotiate(server: TestServer, agentId = NORA): Promise<string> {
  const offer = await ask(server, agentId, AUDIT, OPT_IN);
  expect(offer.status).toBe(461);
  return String(offer.body["synthesis_id"]);
}

// AGTP-API §10.1.2
describe("the four locks", () => {
  it("open one after another", async () => {
    const closed = await openServer(negotiationFiles({ policies: { rcns: { enabled: false } } }));
    expect(await ask(closed, NORA, AUDIT)).toMatchObject({ status: 404 });
    const disabled = await ask(closed, NORA, AUDIT, OPT_IN);
    expect(disabled).toMatchObject({ status: 464, body: { reason: "rcns-disabled" } });
    expect(disabled.headers.get("rcns-attempt-id")).toMatch(/^rcns-/);

    const server = await openServer(negotiationFiles());
    expect(await ask(server, NORA, AUDIT)).toMatchObject({ status: 404 });
    expect(await ask(server, NORA, AUDIT, { "Allow-RCNS": "yes" })).toMatchObject({ status: 404 });
    expect(await ask(server, ROSA, AUDIT, OPT_IN)).toMatchObject({
      status: 262,
      body: { type: "scope-required", scope: "rcns:negotiate" },
    });
    const weak = await ask(server, QUIN, AUDIT, OPT_IN);
    expect(weak).toMatchObject({ status: 464, body: { reason: "trust-tier-insufficient" } });
    expect(weak.headers.has("rcns-attempt-id")).toBe(true);
    expect(await ask(server, NORA, AUDIT, OPT_IN)).toMatchObject({ status: 461 });
  });

  // AGTP "INSPECT"
  it("are told by INSPECT of the attempt, those behind a closed one as not seen", async () => {
    const disabled = await openServer(negotiationFiles({ policies: { rcns: { enabled: false } } }));
    const server = await openServer(negotiationFiles());
    const nothing = { method: "AUDIT", path: "/nothing" };
    const attempts = [
      [disabled, NORA, AUDIT, ["closed", "open", "unseen", "unseen"]],
      [server, QUIN, AUDIT, ["open", "open", "open", "closed"]],
      [server, NORA, nothing, ["open", "open", "open", "open"]],
    ] as const;
    for (const [at, agent, request, states] of attempts) {
      const { headers } = await ask(at, agent, request, OPT_IN);
      const attempt = { target: "rcns-attempt", attempt_id: headers.get("rcns-attempt-id") ?? "" };
      const { body } = await ask(at, agent, { method: "INSPECT", body: attempt });
      const [enabled, optIn, scope, tier] = states;
      expect(body["result"]?.["locks"]).toEqual({
        ...{ "rcns-enabled": enabled, "allow-rcns": optIn, scope, "trust-tier": tier },
      });
    }
  });

  it("are all closed by synthesis_enabled = false", async () => {
    const server = await openServer(negotiationFiles({ policies: { synthesis_enabled: false } }));
    const reply = await ask(server, NORA, AUDIT, OPT_IN);
    expect(reply).toMatchObject({ status: 464, body: { reason: "rcns-disabled" } });
  });

  it("ask for the scope that is claimed, not only held", async () => {
    const server = await openServer(negotiationFiles());
    const headers = { ...OPT_IN, "Authority-Scope": "facts:read" };
    expect(await ask(server, NORA, AUDIT, headers)).toMatchObject({ status: 262 });
  });

  it("are tried so often a minute, agent by agent", async () => {
    const rcns = { enabled: true, min_trust_tier: 2, rate_limit_per_minute: 2 };
    const server = await openServer(negotiationFiles({ policies: { rcns } }));
    const id = await negotiate(server);
    await negotiate(server);
    const limited = await ask(server, NORA, AUDIT, OPT_IN);
    expect(limited).toMatchObject({ status: 429, body: { scope: "rcns" } });
    expect(await ask(server, OTTO, AUDIT, OPT_IN)).toMatchObject({ status: 461 });
    // A contract that was issued is called without the gate.
    const served = await ask(server, NORA, AUDIT, { "Contract-Synthesized": id });
    expect(served.status).toBe(200);
  });

  // AGTP-API §10.1.5
  it("are not tried again for what is replayed under an Idempotency-Key, also where nothing came of it", async () => {
    const rcns = { enabled: true, min_trust_tier: 2, rate_limit_per_minute: 1 };
    const server = await openServer(negotiationFiles({ policies: { rcns } }));
    const nothing = { method: "DESIGN", path: "/fences" };
    const [first, again] = [
      await ask(server, NORA, nothing, { ...OPT_IN, "Idempotency-Key": "k-1" }),
      await ask(server, NORA, nothing, { ...OPT_IN, "Idempotency-Key": "k-1" }),
    ];
    expect(first).toMatchObject({ status: 464, body: { reason: "composition-impossible" } });
    expect([again.status, again.body]).toEqual([first.status, first.body]);
    expect(again.headers.get("rcns-attempt-id")).toBe(first.headers.get("rcns-attempt-id"));
    expect(again.headers.get("idempotency-replayed")).toBe("true");
  });

  it("refuse what nothing composes, and what would need more scopes than the agent holds", async () => {
    const server = await openServer(negotiationFiles());
    const nothing = await ask(server, NORA, { method: "DESIGN", path: "/fences" }, OPT_IN);
    expect(nothing).toMatchObject({ status: 464, body: { reason: "composition-impossible" } });
    const poor = await ask(server, PIA, AUDIT, OPT_IN);
    expect(poor).toMatchObject({ status: 262, body: { type: "scope-required" } });
  });

  it("tell what keeps the recipe for the pair from answering", async () => {
    const server = await openServer(negotiationFiles());
    const recipe = 'the recipe "audit" is for it, but';
    for (const [body, why] of [
      [{ topic: "x" }, `${recipe} the input has no "subject"`],
      [{ subject: 7 }, `${recipe} step 1 (QUERY /facts) takes "subject" as another type`],
    ] as const) {
      const refused = await ask(server, NORA, { ...AUDIT, body }, OPT_IN);
      expect(refused).toMatchObject({ status: 464, body: { reason: "composition-impossible" } });
      expect(String(refused.body["explanation"])).toContain(why);
    }
  });

  it("do not open for what a handler dispatches", async () => {
    const server = await openServer({
      ...negotiationFiles(),
      "handlers.mjs": `
        export const facts = async (call) => {
          const { status } = await call.dispatch("AUDIT", "/reviews", { subject: "x" });
          return { body: { facts: [String(status)], about: "inner" } };
        };
        export const verdict = () => ({ body: { verdict: "" } });
        export const place = () => ({ body: { placed: "" } });`,
    });
    await negotiate(server);
    const reply = await ask(
      server,
      NORA,
      { method: "QUERY", path: "/facts", body: { subject: "x" } },
      OPT_IN,
    );
    expect(reply.body).toMatchObject({ facts: ["404"] });
  });
});

// AGTP-API §5.5, §13.2
describe("the parameters of a request that is negotiated", () => {
  const WAIT = { method: "SCHEDULE", path: "/visits?minutes=20&subject=7" };

  /** A second step that takes a number, and a first one that leaves a trace. */
  function open(mode: string): Promise<TestServer> {
    const rcns = { enabled: true, mode, min_trust_tier: 2, rate_limit_per_minute: 1000 };
    const files = negotiationFiles({ policies: { rcns } });
    const number = endpointFile({
      method: "RESERVE",
      path: "/visits",
      properties: { minutes: { type: "integer" } },
      required: ["minutes"],
      handler: { type: "registered_function", function: "handlers.place" },
    });
    const recipe = String(files["recipes/audit.toml"])
      .replace('"AUDIT"', '"SCHEDULE"')
      .replace('"/reviews"', '"/visits"')
      .replace('method = "ANALYZE"\npath = "/facts"', 'method = "RESERVE"\npath = "/visits"')
      .replace("parameters.facts]", "parameters.minutes]")
      .replace('"previous_step"', '"proposal"')
      .replace('"facts.facts"', '"minutes"');
    const handlers = `
      let asked = 0;
      export const facts = () => ({ body: { facts: [String(asked++)], about: "" } });
      export const verdict = () => ({ body: { verdict: "" } });
      export const place = ({ input }) => ({ body: { minutes: input.minutes, asked } });`;
    return openServer({
      ...files,
      "handlers.mjs": handlers,
      "recipes/audit.toml": recipe,
      "endpoints/visits.toml": number,
    });
  }

  it("have the types that the steps take, and those of a query are read as these", async () => {
    const server = await open("confirm-first");
    const offer = await ask(server, NORA, WAIT, OPT_IN);
    expect(offer).toMatchObject({
      status: 461,
      body: {
        endpoint: {
          input_schema: {
            properties: { minutes: { type: "integer" }, subject: { type: "string" } },
          },
        },
      },
    });
    const accept = { "Contract-Synthesized": String(offer.body["synthesis_id"]) };
    expect(await ask(server, NORA, WAIT, accept)).toMatchObject({
      status: 200,
      body: { minutes: 20, asked: 1 },
    });
    const wrong = { ...WAIT, path: "/visits", body: { subject: "7", minutes: "twenty" } };
    expect(await ask(server, NORA, wrong, accept)).toMatchObject({
      status: 422,
      body: { error: { code: "schema-validation-failed" } },
    });
    expect((await ask(server, NORA, WAIT, accept)).body).toMatchObject({ asked: 2 });
  });

  it("are read so too where the contract is run at once", async () => {
    const server = await open("optimistic");
    expect(await ask(server, NORA, WAIT, OPT_IN)).toMatchObject({
      status: 200,
      body: { minutes: 20, asked: 1 },
    });
    const text = { ...WAIT, path: "/visits?minutes=many&subject=7" };
    expect(await ask(server, OTTO, text, OPT_IN)).toMatchObject({
      status: 422,
      body: { error: { code: "schema-validation-failed" } },
    });
  });
});

// AGTP-API §10.1.3
describe("delivery", () => {
  it("previews the contract, runs nothing, and accepts it by its id", async () => {
    const server = await openServer(negotiationFiles());
    const offer = await ask(server, NORA, AUDIT, OPT_IN);
    expect(offer.body).toMatchObject({
      method: "AUDIT",
      path: "/reviews",
      endpoint: { method: "AUDIT", path: "/reviews", handler: { type: "composition" } },
      recipe_lineage: { recipe_name: "audit", recipe_version: "1" },
      contract_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      expires_at: expect.stringMatching(/Z$/),
    });
    expect(recordOf(offer).payload).not.toHaveProperty("synthesis_id");
    // An offer does not answer for the bare pair.
    expect(await ask(server, NORA, AUDIT)).toMatchObject({ status: 404 });
    const id = String(offer.body["synthesis_id"]);
    const served = await ask(server, NORA, AUDIT, { "Contract-Synthesized": id });
    expect(served).toMatchObject({ status: 200, body: { verdict: "2 facts", about: "barn" } });
    expect(recordOf(served).payload).toMatchObject({
      synthesis_id: id,
      contract_hash: offer.body["contract_hash"],
      negotiation_origin: "rcns-gate",
    });
    // Once presented, the bare pair is its owner's.
    expect(await ask(server, NORA, AUDIT)).toMatchObject({ status: 200 });
    expect(await ask(server, OTTO, AUDIT)).toMatchObject({ status: 404 });
  });

  it("runs at once where the operator says so, and tells the contract", async () => {
    const rcns = { enabled: true, mode: "optimistic", min_trust_tier: 2 };
    const server = await openServer(negotiationFiles({ policies: { rcns } }));
    const served = await ask(server, NORA, AUDIT, OPT_IN);
    expect(served).toMatchObject({ status: 200, body: { verdict: "2 facts" } });
    const id = served.headers.get("contract-synthesized") ?? "";
    expect(id).toMatch(/^syn-/);
    expect(recordOf(served).payload).toMatchObject({
      synthesis_id: id,
      negotiation_origin: "rcns-gate",
    });
    expect(await ask(server, NORA, AUDIT)).toMatchObject({ status: 200 });
  });
});

// AGTP-API §10.1.4
describe("a presented contract", () => {
  it("answers for each way of not being usable in its own way", async () => {
    const server = await openServer(negotiationFiles());
    const id = await negotiate(server);
    const present = { "Contract-Synthesized": id };
    const stolen = await ask(server, OTTO, AUDIT, present);
    expect(stolen).toMatchObject({ status: 464, body: { reason: "contract-not-yours" } });
    expect(stolen.headers.has("rcns-attempt-id")).toBe(true);
    const anonymous = await ask(server, undefined, AUDIT, present);
    expect(anonymous).toMatchObject({ status: 464, body: { reason: "contract-not-yours" } });
    const unknown = { "Contract-Synthesized": "syn-0" };
    expect(await ask(server, NORA, AUDIT, unknown)).toMatchObject({ status: 404 });
    const elsewhere = { method: "QUERY", path: "/facts", body: { subject: "x" } };
    const mismatch = await ask(server, NORA, elsewhere, present);
    expect(mismatch).toMatchObject({ status: 400, body: { reason: "contract-mismatch" } });
    const oldName = await ask(server, NORA, AUDIT, { "Synthesis-Id": id });
    expect(oldName.status).toBe(200);
  });

  it("is checked before it is run: its input and its scopes, every time", async () => {
    const server = await openServer(negotiationFiles());
    const id = await negotiate(server);
    const present = { "Contract-Synthesized": id };
    const unknown = { ...AUDIT, body: { subject: "barn", colour: "red" } };
    expect(await ask(server, NORA, unknown, present)).toMatchObject({ status: 422 });
    const narrow = { ...present, "Authority-Scope": "rcns:negotiate" };
    expect(await ask(server, NORA, AUDIT, narrow)).toMatchObject({ status: 455 });
  });

  it("is released by its agent alone, once", async () => {
    const server = await openServer(negotiationFiles());
    const id = await negotiate(server);
    const suspend = { method: "SUSPEND", body: { synthesis_id: id, reason: "done" } };
    expect(await ask(server, OTTO, suspend)).toMatchObject({ status: 403 });
    const released = await ask(server, NORA, suspend);
    expect(released).toMatchObject({ status: 200, body: { result: { status: "released" } } });
    expect(await ask(server, NORA, suspend)).toMatchObject({ body: { result: { noop: true } } });
    const present = { "Contract-Synthesized": id };
    const reply = await ask(server, NORA, AUDIT, present);
    expect(reply).toMatchObject({ status: 464, body: { reason: "contract-revoked" } });
    const inspect = { method: "INSPECT", body: { target: "lifecycle", agent_id: NORA } };
    const { body } = await ask(server, NORA, inspect);
    expect(body["result"]?.["events"]?.[0]?.["payload"]).toMatchObject({
      ...{ event_type: "rcns_release", synthesis_id: id },
      ...{ agent_id: NORA, owner_id: "owner-of-nora" },
    });
  });

  it("is revoked by its agent or an operator, and by nobody else", async () => {
    const server = await openServer(negotiationFiles());
    const id = await negotiate(server);
    const revoke = { method: "REVOKE", body: { target: "contract", synthesis_id: id } };
    expect(await ask(server, OTTO, revoke)).toMatchObject({ status: 403 });
    const revoked = await ask(server, OPAL, revoke);
    expect(revoked).toMatchObject({ status: 200, body: { result: { status: "revoked" } } });
    const reply = await ask(server, NORA, AUDIT, { "Contract-Synthesized": id });
    expect(reply).toMatchObject({ status: 464, body: { reason: "contract-revoked" } });
  });

  it("is said to be over by nobody before it is so in the store", async () => {
    const memory = createMemoryStore();
    const failures: (() => void)[] = [];
    let isFailing = false;
    const store = alterStore(memory, {
      commit: (...args) => {
        if (!isFailing) return memory.commit(...args);
        isFailing = false;
        return new Promise((_, reject) => {
          const fault = new StoreUnavailableError("unreachable", new Error("gone"));
          failures.push(() => reject(fault));
        });
      },
    });
    const onFault = () => undefined;
    const state = await openState({ store, journalDirectory: undefined, onFault });
    const server = await openServer(negotiationFiles(), { state });
    const id = await negotiate(server);
    isFailing = true;
    const revoke = { method: "REVOKE", body: { target: "contract", synthesis_id: id } };
    const first = ask(server, OPAL, revoke);
    await vi.waitFor(() => expect(failures).toHaveLength(1), PATIENCE);
    const second = ask(server, NORA, revoke);
    await new Promise((resolve) => setImmediate(resolve));
    failures[0]?.();
    expect(await first).toMatchObject({ status: 503 });
    expect(await second).toMatchObject({ status: 200, body: { result: { status: "revoked" } } });
    const reply = await ask(server, NORA, AUDIT, { "Contract-Synthesized": id });
    expect(reply).toMatchObject({ status: 464, body: { reason: "contract-revoked" } });
  });

  it("takes no further step once it is over", async () => {
    const server = await openServer({
      ...negotiationFiles(),
      "handlers.mjs": `
        export const facts = async (call) => {
          await call.dispatch("REVOKE", "/", { target: "contract", synthesis_id: call.input.subject });
          return { body: { facts: [], about: "revoked" } };
        };
        export const verdict = () => ({ body: { verdict: "must not be reached" } });
        export const place = () => ({ body: { placed: "" } });`,
    });
    const id = await negotiate(server);
    const request = { ...AUDIT, body: { subject: id } };
    const reply = await ask(server, NORA, request, { "Contract-Synthesized": id });
    expect(reply).toMatchObject({
      status: 422,
      body: { error: { code: "composition_failed", details: { step: 2, status: 464 } } },
    });
  });
});

// AGTP-API §10.1.4.1
describe("the sweep of stale contracts", () => {
  const sweep = (mode?: string) => ({
    method: "REVOKE",
    body: { target: "stale-contracts", ...(mode === undefined ? {} : { mode }) },
  });

  it("is for operators", async () => {
    const server = await openServer(negotiationFiles());
    expect(await ask(server, NORA, sweep())).toMatchObject({
      status: 403,
      body: { error: { code: "operator-scope-required" } },
    });
    expect(await ask(server, OPAL, sweep("shred"))).toMatchObject({ status: 400 });
  });

  it("leaves what is up to date alone", async () => {
    const server = await openServer(negotiationFiles());
    const id = await negotiate(server);
    const { body } = await ask(server, OPAL, sweep("invalidate"));
    expect(body["result"]).toMatchObject({
      stale_count: 0,
      contracts: [{ synthesis_id: id, disposition: "unchanged", current_version: "1" }],
    });
  });
});

// AGTP-API §5.8.6, §5.8.7
describe("what there is to negotiate, and was", () => {
  it("is listed to whom it concerns", async () => {
    const server = await openServer(negotiationFiles());
    const patterns = await ask(server, NORA, { method: "DISCOVER", path: "/patterns" });
    expect(patterns.body).toMatchObject({ rcns_enabled: true, patterns: [{ method: "AUDIT" }] });
    const id = await negotiate(server);
    await ask(server, NORA, AUDIT, { "Contract-Synthesized": id });
    const list = { method: "DISCOVER", path: "/contracts" };
    expect((await ask(server, NORA, list)).body).toMatchObject([
      { synthesis_id: id, originating_agent_id: NORA, negotiation_origin: "rcns-gate" },
    ]);
    expect((await ask(server, OTTO, list)).body).toEqual([]);
    expect((await ask(server, undefined, list)).body).toEqual([]);
    expect((await ask(server, OPAL, list)).body).toHaveLength(1);
  });

  it("is inspected by whom it concerns", async () => {
    const server = await openServer(negotiationFiles());
    const id = await negotiate(server);
    const contract = { method: "INSPECT", body: { target: "contract", synthesis_id: id } };
    expect((await ask(server, NORA, contract)).body["result"]).toMatchObject({
      originating_agent_id: NORA,
      state: "offered",
      plan: [{ method: "QUERY" }, { method: "ANALYZE" }],
    });
    expect(await ask(server, OTTO, contract)).toMatchObject({ status: 403 });
    expect(await ask(server, OPAL, contract)).toMatchObject({ status: 200 });
    const stolen = await ask(server, OTTO, AUDIT, { "Contract-Synthesized": id });
    const attemptId = stolen.headers.get("rcns-attempt-id") ?? "";
    const attempt = { method: "INSPECT", body: { target: "rcns-attempt", attempt_id: attemptId } };
    expect((await ask(server, OTTO, attempt)).body["result"]).toMatchObject({
      method_attempted: "AUDIT",
      reason: "contract-not-yours",
    });
    expect(await ask(server, NORA, attempt)).toMatchObject({ status: 403 });
  });
});

// AGTP-API §10.6
describe("PROPOSE", () => {
  it("approves what a recipe answers for, with its version", async () => {
    const server = await openServer(negotiationFiles());
    const endpoint = { ...JUDGE, method: "AUDIT", path: "/reviews", output_schema: {} };
    const reply = await ask(server, NORA, propose(endpoint));
    expect(reply).toMatchObject({
      status: 263,
      body: {
        method: "AUDIT",
        path: "/reviews",
        synthesis_id: expect.stringMatching(/^syn-/),
        endpoint: { method: "AUDIT" },
        recipe_lineage: { recipe_name: "audit", recipe_version: "1" },
        persistent: false,
        negotiation_origin: "propose",
      },
    });
    expect(reply.headers.get("negotiation-id")).toBe(reply.body["negotiation_id"]);
    const served = await ask(server, NORA, AUDIT);
    expect(served).toMatchObject({ status: 200, body: { verdict: "2 facts" } });
    expect(recordOf(served).payload).toMatchObject({ negotiation_origin: "propose" });
  });

  it("approves what the planner finds, and says how", async () => {
    const server = await openServer(negotiationFiles());
    const reply = await ask(server, NORA, propose(JUDGE));
    expect(reply).toMatchObject({ status: 263, body: { synthesis: { kind: "planner" } } });
    expect(reply.body["synthesis_log"]).not.toEqual([]);
    const served = await ask(server, NORA, {
      method: "EVALUATE",
      path: "/verdicts",
      body: { subject: "barn" },
    });
    expect(served).toMatchObject({ status: 200, body: { verdict: "2 facts" } });
  });

  it("grants the time that is asked for, within what the server grants", async () => {
    const synthesis = { persistent_max_seconds: 600_000, persistent_default_seconds: 100 };
    const server = await openServer(negotiationFiles({ synthesis }));
    const granted = async (more: object) =>
      (await ask(server, NORA, propose(JUDGE, more))).body["granted_duration"];
    expect(await granted({ persistent: true })).toBe(100);
    expect(await granted({ persistent: true, requested_duration: "7d" })).toBe(600_000);
    expect(await granted({ requested_duration: 60 })).toBe(60);
    expect(await granted({ requested_duration: "30d" })).toBe(86_400);
  });

  it.each([
    ["459 before all else", { ...JUDGE, method: "EVALUAET", path: "bad", semantic: {} }, 459],
    ["460 before the form", { ...JUDGE, path: "/get/x", semantic: {} }, 460],
    ["400 without a semantic block", { ...JUDGE, semantic: undefined, input_schema: 1 }, 400],
    ["400 with half of one", { ...JUDGE, semantic: { intent: "x" } }, 400],
    ["400 for what is no schema", { ...JUDGE, input_schema: { type: "sausage" } }, 400],
    ["262 for scopes that are not held", { ...JUDGE, required_scopes: ["vault:open"] }, 262],
  ])("answers %s", async (_, endpoint, status) => {
    const server = await openServer(negotiationFiles());
    expect(await ask(server, NORA, propose(endpoint))).toMatchObject({ status });
  });

  it("answers 262 where only scopes are in the way, and 463 where nothing would help", async () => {
    const server = await openServer(negotiationFiles());
    expect(await ask(server, PIA, propose(JUDGE))).toMatchObject({
      status: 262,
      body: { type: "scope-required", scope: "facts:read" },
    });
    const output = { type: "object", properties: { moon: {} }, required: ["moon"] };
    const reply = await ask(server, NORA, propose({ ...JUDGE, output_schema: output }));
    expect(reply).toMatchObject({
      status: 463,
      body: { reason: "composition-impossible", explanation: expect.any(String) },
    });
    expect(reply.body["similar"]).toBeDefined();
  });

  it("refuses what is registered already, and says where", async () => {
    const server = await openServer(negotiationFiles());
    const endpoint = { ...JUDGE, method: "QUERY", path: "/facts" };
    expect(await ask(server, NORA, propose(endpoint))).toMatchObject({
      status: 463,
      body: {
        reason: "policy-refused",
        counter_proposal: { method: "QUERY", path: "/facts" },
      },
    });
  });

  it("has three turns under one Negotiation-ID", async () => {
    const server = await openServer(negotiationFiles());
    const output = { type: "object", properties: { moon: {} }, required: ["moon"] };
    const rejected = propose({ ...JUDGE, output_schema: output });
    const first = await ask(server, NORA, rejected);
    const id = first.headers.get("negotiation-id") ?? "";
    const turn = { "Negotiation-ID": id };
    expect(await ask(server, OTTO, rejected, turn)).toMatchObject({ status: 400 });
    expect(await ask(server, NORA, rejected, turn)).toMatchObject({ status: 463 });
    expect(await ask(server, NORA, rejected, turn)).toMatchObject({ status: 463 });
    const fourth = await ask(server, NORA, propose(JUDGE), turn);
    expect(fourth).toMatchObject({ status: 463, body: { escalate: true } });
    expect((await ask(server, NORA, propose(JUDGE))).status).toBe(263);
  });

  it("has no more than three turns where they are taken at once", async () => {
    const server = await openServer(negotiationFiles());
    const output = { type: "object", properties: { moon: {} }, required: ["moon"] };
    const rejected = propose({ ...JUDGE, output_schema: output });
    const first = await ask(server, NORA, rejected);
    const turn = { "Negotiation-ID": first.headers.get("negotiation-id") ?? "" };
    const further = Array.from({ length: 5 }, () => ask(server, NORA, rejected, turn));
    const answers = await Promise.all(further);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([463]));
    expect(answers.filter(({ body }) => !("escalate" in (body ?? {})))).toHaveLength(2);
  });

  it("is evaluated later where the operator says so", async () => {
    const server = await openServer(negotiationFiles({ synthesis: { async_evaluation: true } }));
    const pending = await ask(server, NORA, propose(JUDGE));
    expect(pending.status).toBe(261);
    const id = String(pending.body["proposal_id"]);
    const poll = { method: "QUERY", path: `/proposals/${id}` };
    expect(await ask(server, OTTO, poll)).toMatchObject({ status: 404 });
    const negotiationId = pending.headers.get("negotiation-id");
    const early = await ask(server, NORA, poll);
    const answer = await settled(() => ask(server, NORA, poll));
    expect(answer).toMatchObject({ status: 263, body: { proposed: true } });
    expect(answer.headers.get("content-type")).toBe("application/vnd.agtp.endpoint+json");
    for (const { headers } of [early, answer]) {
      expect(headers.get("negotiation-id")).toBe(negotiationId);
    }
    const byBody = { method: "QUERY", path: "/proposals", body: { proposal_id: id } };
    expect(await ask(server, NORA, byBody)).toMatchObject({ status: 263 });
    const bad = await ask(
      server,
      NORA,
      propose({ ...JUDGE, semantic: { ...SEMANTIC, impact: 1 } }),
    );
    expect(bad.status).toBe(400);
  });
});

// 503 outcome-unknown
describe("a contract whose record cannot be kept", () => {
  /** The journal breaks once there is a contract. */
  async function openBreaking(tables: Readonly<Record<string, object>> = {}) {
    const journal = new BreakableJournal();
    const state = await openBreakableState(journal);
    const stop = state.contracts.watch(() => {
      stop();
      journal.fault = new Error("the disk is full");
    });
    const server = await openServer(negotiationFiles(tables), { state });
    return { server, journal, contracts: () => state.contracts.active(NORA) };
  }

  it("may have been made, and its agent is told that", async () => {
    const { server, contracts } = await openBreaking();
    const reply = await ask(server, NORA, propose(JUDGE));
    expect([reply.status, errorCode(reply)]).toEqual([503, "outcome-unknown"]);
    expect(contracts()).toHaveLength(1);
  });

  it("is answered once it can be, and is the only one, where its agent does not wait", async () => {
    const { server, journal, contracts } = await openBreaking({
      synthesis: { async_evaluation: true },
    });
    const { body } = await ask(server, NORA, propose(JUDGE));
    const poll = { method: "QUERY", path: `/proposals/${body["proposal_id"]}` };
    await vi.waitFor(() => expect(journal.fault).toBeDefined(), PATIENCE);
    journal.fault = undefined;
    const answer = await vi.waitFor(async () => {
      const reply = await ask(server, NORA, poll);
      expect(reply).toMatchObject({ status: 263, body: { proposed: true } });
      return reply;
    }, PATIENCE);
    expect(contracts().map(({ synthesisId }) => synthesisId)).toEqual([
      answer.body["synthesis_id"],
    ]);
  });
});

// AGTP "Sessions"
describe("a proposal that waits when its session ends", () => {
  it("comes to no contract, which would be over already", async () => {
    const memory = createMemoryStore();
    let isFull = true;
    const store = alterStore(memory, {
      commit: (changes, expectations) => {
        const isRefused = isFull && changes.some(({ collection }) => collection === "contracts");
        const full = new StoreUnavailableError("full", new Error("the disk is full"));
        return isRefused ? Promise.reject(full) : memory.commit(changes, expectations);
      },
    });
    const onFault = (): void => undefined;
    const state = await openState({ store, journalDirectory: undefined, onFault });
    const server = await openServer(negotiationFiles({ synthesis: { async_evaluation: true } }), {
      state,
    });
    const session = { "Session-ID": "s-1" };
    const { body } = await ask(server, NORA, propose(JUDGE), session);
    const end = { method: "REVOKE", body: { target: "session", session_id: "s-1" } };
    expect(await ask(server, NORA, end)).toMatchObject({ status: 200 });
    isFull = false;
    const poll = { method: "QUERY", path: `/proposals/${body["proposal_id"]}` };
    await vi.waitFor(async () => {
      const reply = await ask(server, NORA, poll);
      expect([reply.status, errorCode(reply)]).toEqual([409, "session-ended"]);
    }, PATIENCE);
    expect(state.contracts.active(NORA)).toEqual([]);
  });
});

function propose(endpoint: object, more: object = {}) {
  return { method: "PROPOSE", body: { endpoint, ...more } };
}

function errorCode({ body }: TestReply): unknown {
  return (body["error"] as { readonly code?: unknown } | undefined)?.code;
}

/** Asks until the answer is no longer that there is none yet. */
async function settled(poll: () => Promise<TestReply>): Promise<TestReply> {
  for (let round = 0; round < 1000; round += 1) {
    const reply = await poll();
    if (reply.status !== 261) return reply;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error("the proposal was not evaluated");
}
