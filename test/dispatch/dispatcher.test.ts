import { describe, expect, it } from "vitest";
import { agentFile, ECHO_MODULE, endpointFile } from "../support/deployment.ts";
import { openServer } from "../support/dispatch.ts";

const ALICE = "a".repeat(64);
const BOB = "b".repeat(64);

const FILES = {
  "handlers.mjs": ECHO_MODULE,
  "agents/alice.agent.json": agentFile({
    agent_id: ALICE,
    name: "alice",
    scopes_accepted: ["vault:open"],
  }),
  "agents/bob.agent.json": agentFile({ agent_id: BOB, name: "bob" }),
  "endpoints/room.toml": endpointFile({ method: "BOOK", path: "/room" }),
  "endpoints/vault.toml": endpointFile({
    method: "QUERY",
    path: "/vault",
    required_scopes: ["vault:open"],
  }),
};

function functionAt(name: string): object {
  return { type: "registered_function", function: `handlers.${name}` };
}

// AGTP-API Appendix A.2
describe("the pipeline", () => {
  it("gives a handler everything it is promised", async () => {
    const server = await openServer(FILES);
    const reply = await server.send({
      method: "BOOK",
      path: "/room",
      headers: {
        "Agent-ID": ALICE,
        "Owner-ID": "acme",
        "Request-ID": "018f3c2e-7a10-7cc4-9b7e-2f6d5a1c0b42",
      },
      body: { task_id: "t", session_id: "s", parameters: {} },
    });
    expect(reply.body).toEqual({
      input: {},
      method: "BOOK",
      path: "/room",
      requested_method: null,
      query: {},
      agent_id: ALICE,
      owner_id: "acme",
      principal_id: null,
      scopes: ["vault:open"],
      trust_tier: expect.any(Number),
      session_id: "s",
      task_id: "t",
      request_id: "018f3c2e-7a10-7cc4-9b7e-2f6d5a1c0b42",
    });
  });

  it("logs a fault with the id that the caller sees, and the cause that it does not", async () => {
    const server = await openServer({
      ...FILES,
      "handlers.mjs": `export const echo = async () => { throw new Error("the secret") };`,
    });
    const reply = await server.send({
      method: "BOOK",
      path: "/room",
      headers: { "Agent-ID": ALICE },
    });
    expect(reply.status).toBe(500);
    expect(reply.text).not.toContain("secret");
    expect(server.faults).toHaveLength(1);
    expect(reply.body["error_id"]).toBe(server.faults[0]?.errorId);
    expect(server.faults[0]?.cause).toMatchObject({ message: "the secret" });
  });

  // AGTP-API §12.1
  it("gives an inner dispatch the authority of its own caller, not of its endpoint", async () => {
    const server = await openServer({
      ...FILES,
      "handlers.mjs": `${ECHO_MODULE}
        export const peek = async (call) => ({ body: await call.dispatch("QUERY", "/vault") });`,
      "endpoints/peek.toml": endpointFile({
        method: "AUDIT",
        path: "/vault",
        handler: functionAt("peek"),
      }),
    });
    const ask = (agent: string) =>
      server.send({ method: "AUDIT", path: "/vault", headers: { "Agent-ID": agent } });
    expect((await ask(ALICE)).body).toMatchObject({ status: 200 });
    expect((await ask(BOB)).body).toMatchObject({
      status: 455,
      body: { missing_scopes: ["vault:open"] },
    });
  });

  it("lets an inner dispatch claim no scope, name no other agent, and send no header", async () => {
    const server = await openServer({
      ...FILES,
      "handlers.mjs": `${ECHO_MODULE}
        export const forge = async (call) => {
          const input = { "Agent-ID": "${ALICE}", "Authority-Scope": "vault:open" };
          const results = [];
          for (const path of ["/vault\\r\\nAgent-ID: ${ALICE}", "/vault?Agent-ID=${ALICE}", "/vault"]) {
            const { status } = await call.dispatch("QUERY", path, input).catch(() => ({ status: 0 }));
            results.push(status);
          }
          return { body: results };
        };`,
      "endpoints/forge.toml": endpointFile({
        method: "AUDIT",
        path: "/vault",
        handler: functionAt("forge"),
        output_schema: {},
      }),
    });
    const { body } = await server.send({
      method: "AUDIT",
      path: "/vault",
      headers: { "Agent-ID": BOB },
    });
    expect(body).toEqual([460, 422, 422]);
  });

  it("ends handlers that dispatch into one another without end, sixteen deep", async () => {
    const server = await openServer({
      ...FILES,
      "handlers.mjs": `${ECHO_MODULE}
        export const deeper = async (call) => {
          const { status, body } = await call.dispatch("AUDIT", "/vault", {});
          return { body: status === 500 ? [call.path] : [call.path, ...body] };
        };`,
      "endpoints/deeper.toml": endpointFile({
        method: "AUDIT",
        path: "/vault",
        handler: functionAt("deeper"),
        output_schema: {},
      }),
    });
    const headers = { "Agent-ID": BOB };
    const { body } = await server.send({ method: "AUDIT", path: "/vault", headers });
    expect(body).toHaveLength(16);
  });

  it("lets a handler keep the headers that it was called with to itself", async () => {
    const server = await openServer({
      ...FILES,
      "handlers.mjs": `export const echo = (call) => {
        "use strict";
        try { call.headers["agent-id"] = "other"; } catch {}
        return { body: { agent: call.headers["agent-id"] } };
      };`,
    });
    const { body } = await server.send({
      method: "BOOK",
      path: "/room",
      headers: { "Agent-ID": ALICE },
    });
    expect(body).toEqual({ agent: ALICE });
  });

  // AGTP-API §13.2
  it("keeps what a handler writes into its call from the calls after it", async () => {
    const server = await openServer({
      ...FILES,
      "handlers.mjs": `export const echo = ({ input, scopes }) => {
        const body = { input: { ...input }, scopes: [...scopes] };
        input.added = true;
        scopes.push("vault:burn");
        return { body };
      };`,
    });
    for (let call = 0; call < 2; call += 1) {
      const headers = { "Agent-ID": ALICE };
      const reply = await server.send({ method: "QUERY", path: "/vault", headers });
      expect(reply.body).toEqual({ input: {}, scopes: ["vault:open"] });
    }
    const claim = { "Agent-ID": ALICE, "Authority-Scope": "vault:burn" };
    const reply = await server.send({ method: "QUERY", path: "/vault", headers: claim });
    expect(reply.body).toMatchObject({ error: { code: "scope-claim-invalid" } });
  });

  // AGTP-API §12.2
  it("gives a handler answers of its own to what it dispatches, and keeps none of what it gives", async () => {
    const server = await openServer({
      ...FILES,
      "handlers.mjs": `
      const spoil = (value) => {
        if (typeof value !== "object" || value === null) return;
        for (const member of Object.values(value)) spoil(member);
        if (Array.isArray(value)) value.push("spoilt");
        else value.spoilt = true;
      };
      const PAIRS = [["DISCOVER", "/"], ["DESCRIBE", "/"], ["QUERY", "/", { intent: "vault" }], ["QUERY", "/vault"]];
      const CONTEXT = { task_id: "t", reason: "ethical_flag", context: {} };
      export const echo = async ({ dispatch }) => {
        const body = { kept: await dispatch("QUERY", "/escalations/" + CONTEXT.escalation) };
        const answers = [];
        for (const pair of PAIRS) answers.push((await dispatch(...pair)).body);
        Object.assign(body, structuredClone({ answers }));
        spoil(answers);
        CONTEXT.escalation ??= (await dispatch("ESCALATE", "/", CONTEXT)).body.result.escalation_id;
        CONTEXT.context.spoilt = true;
        return { body };
      };`,
    });
    const ask = async () => {
      const headers = { "Agent-ID": BOB };
      const { body } = await server.send({ method: "BOOK", path: "/room", headers });
      return JSON.stringify(body).replaceAll(/\d{4}-\d\d-\d\dT[^"]+/g, "");
    };
    const [first, second] = [await ask(), await ask()];
    expect(second).toContain('"context":{}');
    expect(JSON.parse(second).answers).toEqual(JSON.parse(first).answers);
  });

  it("refuses a handler's dispatch of what is no data to a method of the server", async () => {
    const server = await openServer({
      ...FILES,
      "handlers.mjs": `
      export const echo = async ({ dispatch }) => {
        const { status, body } = await dispatch("QUERY", "/", { intent: () => "vault" });
        return { body: { status, code: body.error.code } };
      };`,
    });
    const headers = { "Agent-ID": BOB };
    const { body } = await server.send({ method: "BOOK", path: "/room", headers });
    expect(body).toEqual({ status: 400, code: "invalid-body" });
    expect(server.faults).toEqual([]);
  });

  it("answers wire faults with the ids that every response has", async () => {
    const server = await openServer(FILES);
    const { status, headers, body } = await server.send("NONSENSE\r\n\r\n");
    expect(status).toBe(400);
    expect(headers.get("server-id")).toBe("test");
    expect(headers.get("response-id")).toMatch(/^[0-9a-f-]{36}$/);
    expect(body).toMatchObject({ error: { code: "invalid-request-line" } });
  });
});

// formats, section 3
describe("a handler of a deployment", () => {
  it("may not be reached with input that breaks its schema", async () => {
    const server = await openServer({
      ...FILES,
      "handlers.mjs": `export const echo = () => { throw new Error("was called") };`,
    });
    const headers = { "Agent-ID": ALICE };
    const reply = await server.send({ method: "BOOK", path: "/room", headers, body: { a: 1 } });
    expect(reply.status).toBe(422);
    expect(server.faults).toEqual([]);
  });

  it("may not be reached without the scopes it requires", async () => {
    const server = await openServer({
      ...FILES,
      "handlers.mjs": `export const echo = () => { throw new Error("was called") };`,
    });
    const reply = await server.send({
      method: "QUERY",
      path: "/vault",
      headers: { "Agent-ID": BOB },
    });
    expect(reply.status).toBe(455);
    expect(server.faults).toEqual([]);
  });
});
