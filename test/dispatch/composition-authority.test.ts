/** What is another's stays another's, also where a recipe of the operator's leads to it. */
import { describe, expect, it } from "vitest";
import { endpointFile } from "../support/deployment.ts";
import { openServer, type TestReply, type TestServer } from "../support/dispatch.ts";
import { ALICE, BOB, hostedFiles, peerWith } from "../support/hosted-agents.ts";
import { JUDGE, NORA, negotiationFiles, OPAL, OTTO, propose } from "../support/negotiation.ts";
import { askAs, callIn, escalation, refusalOf, resultOf } from "../support/waiting.ts";

/** A recipe with one step at the server itself. */
function recipe(name: string, method: string, parameters: string): string {
  return `
[[recipe]]
name = "${name}"
version = "1"
description = "Does one thing for its caller."
[recipe.pattern]
method_exact = "REVIEW"
path_exact = "/of-${name}"
[[recipe.steps]]
method = "${method}"
${parameters}
[recipe.aggregation]
mode = "last"
`;
}

function source(name: string, kind: string, value: string): string {
  return `[recipe.steps.parameters.${name}]\nkind = "${kind}"\nvalue = ${JSON.stringify(value)}\n`;
}

function composed(name: string): string {
  return endpointFile({
    ...{ method: "REVIEW", path: `/of-${name}`, errors: ["composition_failed"] },
    properties: { what: {} },
    handler: { type: "composition", recipe: name },
  });
}

const STEPS = {
  decide: recipe(
    "decide",
    "CONFIRM",
    source("target_id", "proposal", "what") + source("status", "constant", "accepted"),
  ),
  borrow: recipe(
    "borrow",
    "EXECUTE",
    source("action", "constant", "EVALUATE /verdicts") + source("parameters", "proposal", "what"),
  ),
  release: recipe("release", "SUSPEND", source("synthesis_id", "proposal", "what")),
  reveal: recipe(
    "reveal",
    "INSPECT",
    source("target", "constant", "contract") + source("synthesis_id", "proposal", "what"),
  ),
};

function open(): Promise<TestServer> {
  const files = Object.entries(STEPS).flatMap(([name, text]) => [
    [`recipes/${name}.toml`, text],
    [`endpoints/${name}.toml`, composed(name)],
  ]);
  return openServer({ ...negotiationFiles(), ...Object.fromEntries(files) });
}

function through(
  server: TestServer,
  agentId: string,
  name: string,
  what: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<TestReply> {
  return askAs(server, agentId, { method: "REVIEW", path: `/of-${name}`, headers, body: { what } });
}

function stepOf({ body }: TestReply): unknown {
  return body["error"]?.["details"];
}

// AGTP-API §12.1: the caller's identity, and no more authority
describe("a composition that confirms", () => {
  it("decides nothing for who may not, and the task goes on waiting", async () => {
    const server = await open();
    const id = resultOf(await askAs(server, NORA, escalation("t-1")), "escalation_id");
    for (const agent of [OTTO, NORA]) {
      const reply = await through(server, agent, "decide", id);
      expect(refusalOf(reply)).toEqual([422, "composition_failed"]);
      expect(stepOf(reply)).toMatchObject({
        status: 403,
        error: { code: "confirmation-forbidden" },
      });
      expect(refusalOf(await askAs(server, NORA, callIn("t-1")))).toEqual([409, "task-paused"]);
    }
    expect((await through(server, OPAL, "decide", id)).status).toBe(200);
    expect((await askAs(server, NORA, callIn("t-1"))).status).toBe(200);
  });
});

describe("a composition that leads to a contract", () => {
  it("finds none, whatever the request around it presents, and lets nobody else end one", async () => {
    const server = await open();
    const approved = await askAs(server, NORA, propose(JUDGE));
    const id = String(approved.body["synthesis_id"]);
    const input = { subject: "barn" };
    const judge = () => askAs(server, NORA, { method: "EVALUATE", path: "/verdicts", body: input });
    expect((await judge()).status).toBe(200);
    for (const agent of [OTTO, NORA]) {
      for (const headers of [{}, { "Synthesis-Id": id }]) {
        const reply = await through(server, agent, "borrow", input, headers);
        expect(refusalOf(reply), agent).not.toEqual([200, undefined]);
        expect(reply.body, agent).not.toHaveProperty("verdict");
      }
    }
    const released = await through(server, OTTO, "release", id);
    expect(refusalOf(released)).toEqual([422, "composition_failed"]);
    expect((await judge()).status).toBe(200);
    expect((await through(server, NORA, "release", id)).status).toBe(200);
    expect((await judge()).status).not.toBe(200);
  });

  it("shows it to nobody else either", async () => {
    const server = await open();
    const approved = await askAs(server, NORA, propose(JUDGE));
    const id = String(approved.body["synthesis_id"]);
    expect((await through(server, NORA, "reveal", id)).status).toBe(200);
    const reply = await through(server, OTTO, "reveal", id);
    expect(refusalOf(reply)).toEqual([422, "composition_failed"]);
    expect(JSON.stringify(reply.body)).not.toContain("input_schema");
  });
});

// AGTP "Agent Lifecycle", AGTP-CERT "Revocation", AGTP-API §12.1
describe("a composition whose agent is stopped while a step is held", () => {
  const TWO = `
[[recipe]]
name = "two"
version = "1"
description = "Holds, and counts."
[recipe.pattern]
method_exact = "REVIEW"
path_exact = "/of-two"
[[recipe.steps]]
method = "EXECUTE"
path = "/held"
[[recipe.steps]]
method = "EXECUTE"
path = "/counted"
[recipe.aggregation]
mode = "last"
`;

  /** A server, and how often its second step was done. */
  async function openHeld() {
    const steps = { counted: 0 };
    const begun = new Promise<() => void>((resolve) => {
      const hold = (): Promise<object> =>
        new Promise((end) => {
          resolve(() => end({ body: {} }));
        });
      const count = (): object => {
        steps.counted += 1;
        return { body: {} };
      };
      Object.assign(globalThis, { composedSteps: { hold, count } });
    });
    const step = (path: string, name: string) =>
      endpointFile({
        ...{ method: "EXECUTE", path },
        handler: { type: "registered_function", function: `steps.${name}` },
      });
    const server = await openServer(
      hostedFiles(
        { lifecycle_auth: "open" },
        {},
        {
          "steps.mjs": `export const hold = () => globalThis.composedSteps.hold();
            export const count = () => globalThis.composedSteps.count();`,
          "recipes/two.toml": TWO,
          "endpoints/two.toml": composed("two"),
          "endpoints/held.toml": step("/held", "hold"),
          "endpoints/counted.toml": step("/counted", "count"),
        },
      ),
    );
    return { server, begun, steps };
  }

  const ask = { method: "REVIEW", path: "/of-two", headers: { "Agent-ID": ALICE }, body: {} };

  it.each([
    ["DEACTIVATE", 503, "agent-suspended"],
    ["REVOKE", 410, "agent-retired"],
  ])("does no further step after %s", async (method, status, code) => {
    const { server, begun, steps } = await openHeld();
    const answered = server.send(ask);
    const end = await begun;
    const body = { agent_id: ALICE, reason: "it was stolen" };
    const headers = { "Agent-ID": BOB };
    expect((await server.send({ method, headers, body })).status).toBe(200);
    end();
    const reply = await answered;
    expect(refusalOf(reply)).toEqual([422, "composition_failed"]);
    expect(stepOf(reply)).toMatchObject({ step: 2, status, error: { code } });
    expect(steps.counted).toBe(0);
  });

  function revoke({ state }: TestServer, serial: string): Promise<unknown> {
    const revokedAt = new Date().toISOString();
    return state.certificates.revoke({ serial, agentId: ALICE, reason: "stolen", revokedAt });
  }

  it("does none with a certificate that was revoked, and all of them with its own", async () => {
    for (const [serial, isRevoked] of [
      ["77", true],
      ["78", false],
    ] as const) {
      const { server, begun, steps } = await openHeld();
      const answered = server.send(ask, peerWith({ serialNumber: "77", agent: {} }));
      const end = await begun;
      await revoke(server, serial);
      end();
      const reply = await answered;
      expect(reply.status).toBe(isRevoked ? 422 : 200);
      if (isRevoked) expect(stepOf(reply)).toMatchObject({ step: 2, status: 401 });
      expect(steps.counted).toBe(isRevoked ? 0 : 1);
    }
  });

  it.each([
    ["77", 0],
    ["78", 1],
  ])(
    "does no call more that was handed on with certificate 77 once %s is revoked",
    async (serial, counted) => {
      const { server, begun, steps } = await openHeld();
      const task = ["/held", "/counted"].map((path) => ({ method: "EXECUTE", path }));
      const body = { target_agent_id: BOB, task, authority_scope: [] };
      const handOn = { method: "DELEGATE", headers: { "Agent-ID": ALICE }, body };
      const answered = server.send(handOn, peerWith({ serialNumber: "77", agent: {} }));
      const end = await begun;
      await revoke(server, serial);
      end();
      const reply = await answered;
      expect(reply.status).toBe(counted === 0 ? 550 : 200);
      if (counted === 0) expect(reply.body["sub_agent"]).toMatchObject({ step: 1, status: 401 });
      expect(steps.counted).toBe(counted);
    },
  );
});
