import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { configFile, ECHO_MODULE, endpointFile } from "../../support/deployment.ts";
import { openServer, type TestReply, type TestServer } from "../../support/dispatch.ts";
import {
  agentIdOf,
  canonical,
  DOCUMENT,
  DRAFT,
  ISSUER,
  type Members,
  REFERENCE,
  STRANGER,
  signGenesis,
  signIdentity,
} from "../../support/genesis.ts";

const LAUREN = agentIdOf(DRAFT);
const MAX = agentIdOf(REFERENCE);
const ZOE = "ab".repeat(32);
const LAURENS: Members = { ...signGenesis(DRAFT), log_inclusion_proof: { leaf: 7 } };
const MAXS = signGenesis(REFERENCE);
const IDENTITY = { trusted_issuers: [ISSUER.pem] };

type Tables = Readonly<Record<string, object>>;

function files(tables: Tables = {}, identity: object = IDENTITY): Record<string, string> {
  const agent = (name: string, agent_id: string): string =>
    JSON.stringify({ ...DOCUMENT, name, agent_id });
  return {
    "agtp-server.toml": configFile({ policies: { identity }, ...tables }),
    "agents/lauren.agent.json": agent("lauren", LAUREN),
    "agents/lauren.genesis.json": JSON.stringify(LAURENS, undefined, 2),
    "agents/max.agent.json": agent("max", MAX),
    "agents/max.genesis.json": JSON.stringify(MAXS),
    "agents/zoe.agent.json": agent("zoe", ZOE),
    "handlers.mjs": ECHO_MODULE,
    "endpoints/menus.toml": endpointFile({ method: "QUERY", path: "/menus" }),
  };
}

function ask(server: TestServer, agentId?: string, body?: Members): Promise<TestReply> {
  const headers = agentId === undefined ? {} : { "Agent-ID": agentId };
  const request = { method: "DISCOVER", path: "/genesis", headers };
  return server.send(body === undefined ? request : { ...request, body });
}

// AGTP-API §5.8.1
describe("DISCOVER /genesis", () => {
  it("sends the Genesis of the caller byte for byte in canonical form, signature included", async () => {
    const server = await openServer(files());
    const reply = await ask(server, LAUREN);
    expect(reply.status).toBe(200);
    expect(reply.headers.get("content-type")).toBe("application/vnd.agtp+json");
    expect(reply.text).toBe(canonical(LAURENS));
    expect((await ask(server, MAX)).text).toBe(canonical(MAXS));
  });

  it("sends what anybody can hash to the Agent-ID", async () => {
    const server = await openServer(files());
    const { signature, agent_id, log_inclusion_proof, ...covered } = (await ask(server, LAUREN))
      .body;
    expect([signature, agent_id, log_inclusion_proof]).toEqual([
      LAURENS["signature"],
      LAUREN,
      LAURENS["log_inclusion_proof"],
    ]);
    expect(createHash("sha256").update(canonical(covered)).digest("hex")).toBe(LAUREN);
  });

  it("is about the agent that agent_id names, whoever asks", async () => {
    const server = await openServer(files());
    for (const agentId of [undefined, LAUREN, MAX, ZOE]) {
      expect((await ask(server, agentId, { agent_id: MAX })).text).toBe(canonical(MAXS));
      expect((await ask(server, agentId, { agent_id: "max" })).text).toBe(canonical(MAXS));
    }
    const byQuery = { method: "DISCOVER", path: "/genesis", query: "agent_id=lauren" };
    expect((await server.send(byQuery)).text).toBe(canonical(LAURENS));
  });

  it("§5.10: is about that agent in the body form, too, which alone takes agent_id", async () => {
    const server = await openServer(files());
    const atRoot = (body: Members) => server.send({ method: "DISCOVER", path: "/", body });
    const byBody = await atRoot({ target: "genesis", agent_id: MAX });
    expect(byBody.text).toBe(canonical(MAXS));
    for (const others of [{}, { target: "agents" }]) {
      const { status, body } = await atRoot({ ...others, agent_id: MAX });
      expect(status).toBe(422);
      expect(body).toMatchObject({ error: { details: { errors: [{ path: "/agent_id" }] } } });
    }
  });

  it("speaks with the standing of the agent that it is about", async () => {
    const server = await openServer(files());
    const { headers } = await ask(server, ZOE, { agent_id: "lauren" });
    expect(headers.get("owner-id")).toBe("acme.example");
    expect(headers.get("trust-tier")).toBe("1");
    expect(headers.get("verification-path")).toBe("dns-anchored");
    expect((await ask(server, ZOE)).headers.get("trust-tier")).toBe("2");
  });

  it("is about the default agent when nobody is named and nobody asks", async () => {
    const server = await openServer(files({ agents: { default: "max" } }));
    expect((await ask(server)).text).toBe(canonical(MAXS));
    expect((await ask(server, LAUREN)).text).toBe(canonical(LAURENS));
    expect((await ask(server, ZOE)).status).toBe(404);
    const byId = await openServer(files({ agents: { default: LAUREN } }));
    expect((await ask(byId)).text).toBe(canonical(LAURENS));
  });

  it.each([
    ["an agent without a Genesis", ZOE, undefined],
    ["nobody at all", undefined, undefined],
    ["a name that nobody has", LAUREN, { agent_id: "nobody" }],
    ["an Agent-ID that nobody has", LAUREN, { agent_id: "cd".repeat(32) }],
    ["no name", LAUREN, { agent_id: "" }],
    ["a member of every object", LAUREN, { agent_id: "__proto__" }],
  ])("is 404 about %s", async (_, agentId, body) => {
    const server = await openServer(files());
    const reply = await ask(server, agentId, body);
    expect(reply.status).toBe(404);
    expect(reply.body["error"]).toMatchObject({ code: "genesis-not-found" });
  });

  it("takes an agent_id that is a text, and no other parameter", async () => {
    const server = await openServer(files());
    expect((await ask(server, LAUREN, { agent_id: 7 })).status).toBe(422);
    expect((await ask(server, LAUREN, { agent: "max" })).status).toBe(422);
  });

  it("does not let names be guessed where agents are not disclosed", async () => {
    const server = await openServer(files({ agents: { disclosure: "private" } }));
    expect((await ask(server, undefined, { agent_id: "max" })).status).toBe(404);
    expect((await ask(server, LAUREN, { agent_id: "max" })).status).toBe(404);
    expect((await ask(server, LAUREN)).status).toBe(200);
    expect((await ask(server, undefined, { agent_id: MAX })).text).toBe(canonical(MAXS));
  });

  it("equals the body form of it", async () => {
    const server = await openServer(files());
    const headers = { "Agent-ID": LAUREN };
    const body = { target: "genesis" };
    const reply = await server.send({ method: "DISCOVER", path: "/", headers, body });
    expect(reply.text).toBe(canonical(LAURENS));
  });

  it("serves what an untrusted issuer signed, as it was signed", async () => {
    const server = await openServer(files({}, {}), { isClean: false });
    expect((await ask(server, LAUREN)).text).toBe(canonical(LAURENS));
    expect(server.problems.map(({ severity }) => severity)).toEqual(["warning", "warning"]);
  });

  it("knows no agent whose Genesis was forged", async () => {
    const forged = {
      ...files(),
      "agents/max.genesis.json": JSON.stringify({ ...MAXS, name: "x" }),
    };
    const server = await openServer(forged, { isClean: false });
    expect((await ask(server, LAUREN, { agent_id: "max" })).status).toBe(404);
    expect((await ask(server, MAX)).status).toBe(401);
    expect((await ask(server, LAUREN)).status).toBe(200);
  });
});

// AGTP-API §5.8.2
describe("DISCOVER /agents, with Geneses,", () => {
  it("shows the posture that was resolved from document and Genesis", async () => {
    const foreign = signIdentity(
      { ...DOCUMENT, name: "zoe", agent_id: ZOE, trust_tier: 1 },
      STRANGER,
    );
    const untrusted = { ...files(), "agents/zoe.agent.json": JSON.stringify(foreign) };
    const server = await openServer(untrusted, { isClean: false });
    const { body } = await server.send({ method: "DISCOVER", path: "/agents" });
    expect(body).toMatchObject([
      {
        name: "lauren",
        trust_tier: 1,
        verification_path: "dns-anchored",
        owner_id: "acme.example",
      },
      { name: "max", trust_tier: 2, trust_warning: "verification-incomplete" },
      { name: "zoe", trust_tier: 2, verification_path: "org-asserted" },
    ]);
    const [lauren, , zoe] = body as unknown as readonly object[];
    expect(lauren).not.toHaveProperty("trust_warning");
    expect(zoe).not.toHaveProperty("owner_id");
  });
});

describe("policies.identity.trusted_issuers", () => {
  it("stops the start with a key that is none", async () => {
    const ec = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----";
    const wrong = files({}, { trusted_issuers: [ISSUER.text, ec] });
    await expect(openServer(wrong)).rejects.toThrow(/policies\.identity\.trusted_issuers\[1\]/);
  });
});
