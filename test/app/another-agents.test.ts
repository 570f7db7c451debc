/** What is one agent's, asked for by another through every entrance of a running daemon. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { askOnce, createDaemon, type TestDaemon } from "../support/daemon.ts";
import { agentFile, createDeployment, endpointFile } from "../support/deployment.ts";
import type { TestReply, TestRequest } from "../support/dispatch.ts";
import {
  AUDIT,
  NORA,
  negotiationFiles,
  OPAL,
  OPT_IN,
  OTTO,
  PIA,
  presenting,
} from "../support/negotiation.ts";

const RELAY = `
export const relay = async (call) => {
  const { method, path, input } = call.input;
  const { status, body } = await call.dispatch(method, path, input);
  return { body: { status, body } };
};
`;

const relayFile = endpointFile({
  ...{ method: "RELAY", path: "/anything" },
  properties: { method: { type: "string" }, path: { type: "string" }, input: { type: "object" } },
  handler: { type: "registered_function", function: "relays.relay" },
});

const scopes = ["rcns:negotiate", "facts:read", "orders:write", "spare:scope"];
const files = negotiationFiles({
  gateway: { enabled: true, port: 0, agent: "pia" },
  policies: { methods: { custom: ["RELAY"] } },
});
const deployment = createDeployment({
  ...files,
  "relays.mjs": RELAY,
  "endpoints/relay.toml": relayFile,
  "agents/nora.agent.json": agentFile({ agent_id: NORA, name: "nora", scopes_accepted: scopes }),
  "agents/otto.agent.json": agentFile({ agent_id: OTTO, name: "otto", scopes_accepted: scopes }),
});

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await createDaemon(deployment);
});
afterAll(async () => {
  await daemon.close();
  deployment.remove();
});

type Headers = Readonly<Record<string, string>>;

async function send(agentId: string, request: TestRequest, more: Headers = {}): Promise<TestReply> {
  return askOnce(daemon, { ...request, headers: { "Agent-ID": agentId, ...more } });
}

/** Every way on which an agent can have a call made; each answers what came of the call itself. */
const ENTRANCES: Readonly<
  Record<string, (agent: string, call: TestRequest, more?: Headers) => Promise<number>>
> = {
  AGTP: async (agent, call, more) => (await send(agent, call, more)).status,
  EXECUTE: async (agent, { method, path = "/", body }, more) => {
    const request = { action: `${method} ${path}`, parameters: body };
    return (await send(agent, { method: "EXECUTE", body: request }, more)).status;
  },
  "an endpoint's own dispatch": async (agent, { method, path = "/", body }, more) => {
    const input = { method, path, input: body };
    const reply = await send(agent, { method: "RELAY", path: "/anything", body: input }, more);
    return Number(reply.body["status"] ?? reply.status);
  },
  "a sequence of EXECUTE": async (agent, { method, path = "/", body }, more) => {
    const steps = [{ action: `${method} ${path}`, parameters: body }];
    return (await send(agent, { method: "EXECUTE", body: { steps } }, more)).status;
  },
};

/** DELEGATE to somebody, which is then who calls. */
async function delegated(from: string, to: string, { method, path = "/", body }: TestRequest) {
  const task = { method, path, parameters: body };
  const request = { target_agent_id: to, task, authority_scope: ["facts:read"] };
  return send(from, { method: "DELEGATE", body: request });
}

/** The sidecar, which is pia. */
async function http(path: string, body: unknown, more: Headers = {}) {
  const answer = await fetch(`http://127.0.0.1:${daemon.daemon.gatewayPort}${path}`, {
    ...{ method: "POST", body: JSON.stringify(body) },
    headers: { "content-type": "application/json", ...more },
  });
  const status = answer.headers.get("x-agtp-status") ?? String(answer.status);
  await answer.text();
  return Number(status);
}

describe("another agent's contract", () => {
  let contract: Headers;
  beforeAll(async () => {
    const offer = await send(NORA, AUDIT, OPT_IN);
    contract = presenting(String(offer.body["synthesis_id"]));
    expect((await send(NORA, AUDIT, contract)).status).toBe(200);
  });

  it.each(Object.entries(ENTRANCES))("is nobody's else through %s", async (name, enter) => {
    if (name === "AGTP") expect(await enter(NORA, AUDIT)).toBe(200);
    for (const agent of [OTTO, OPAL]) {
      expect([200, 202, 263]).not.toContain(await enter(agent, AUDIT));
      expect([200, 202, 263]).not.toContain(await enter(agent, AUDIT, contract));
    }
  });

  it("is nobody's else through the sidecar, named or not", async () => {
    expect([404, 405]).toContain(await http("/reviews/audit", AUDIT.body));
    expect(await http("/reviews/audit", AUDIT.body, contract)).toBe(464);
  });

  it("is not had by handing the call on, to its owner or to anybody", async () => {
    for (const to of [NORA, PIA]) {
      const reply = await delegated(OTTO, to, AUDIT);
      expect(reply.status).not.toBe(200);
    }
    expect((await delegated(NORA, OTTO, AUDIT)).status).not.toBe(200);
  });
});

describe("the escalation of another agent", () => {
  async function escalated(recipient?: string): Promise<string> {
    const body = { task_id: `t-${Math.random()}`, reason: "scope_limit", context: {}, recipient };
    const reply = await send(NORA, { method: "ESCALATE", body });
    expect(reply.body).toMatchObject({ result: { escalation_id: expect.any(String) } });
    return String(reply.body["result"]?.["escalation_id"]);
  }
  const confirm = (id: string): TestRequest => ({
    ...{ method: "CONFIRM", path: "/", body: { target_id: id, status: "accepted" } },
  });
  const stateOf = async (id: string) => {
    const reply = await send(NORA, { method: "QUERY", path: `/escalations/${id}` });
    return reply.body["result"]?.["status"];
  };

  it.each(Object.entries(ENTRANCES))("is not decided through %s", async (_, enter) => {
    const id = await escalated();
    for (const agent of [OTTO, NORA]) {
      expect([200, 202]).not.toContain(await enter(agent, confirm(id)));
    }
    expect(await stateOf(id)).toBe("pending_review");
  });

  it("is not decided through the sidecar", async () => {
    const id = await escalated();
    expect(await http("/confirm", confirm(id).body)).toBe(403);
    expect(await http(`/escalations/${id}/confirm`, { decision: "accepted" })).toBe(403);
    expect(await stateOf(id)).toBe("pending_review");
  });

  it("is not decided by handing the decision on to whom it is for", async () => {
    const id = await escalated("opal");
    const { method, body } = confirm(id);
    const within: readonly TestRequest[] = [
      { method: "RELAY", path: "/anything", body: { method, path: "/", input: body } },
      { method: "EXECUTE", path: "/", body: { action: "CONFIRM /", parameters: body } },
    ];
    for (const from of [NORA, OTTO]) {
      for (const call of within) await delegated(from, OPAL, call);
      expect((await delegated(from, OPAL, confirm(id))).status).not.toBe(200);
      const path = {
        method: "CONFIRM",
        path: `/escalations/${id}`,
        body: { decision: "accepted" },
      };
      expect((await delegated(from, OPAL, path)).status).not.toBe(200);
    }
    expect(await stateOf(id)).toBe("pending_review");
    expect((await send(OPAL, confirm(id))).status).toBe(200);
  });
});
