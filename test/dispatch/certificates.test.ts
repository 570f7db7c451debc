/** What a client certificate changes for a caller: the first gates with peers that need no TLS. */
import { describe, expect, it } from "vitest";
import type { Peer } from "../../src/dispatch/caller/peer.ts";
import { openServer, shareServer, type TestReply, type TestServer } from "../support/dispatch.ts";
import {
  AGENT,
  agentIdOf,
  DOCUMENT,
  REFERENCE,
  STRANGER,
  signGenesis,
} from "../support/genesis.ts";
import {
  ALICE,
  BOB,
  CAROL,
  hostedFiles,
  makeCertificate,
  peerWith,
  UNKNOWN,
} from "../support/hosted-agents.ts";

const GENESIS = signGenesis(REFERENCE);
/** Its Genesis has a key of its own. */
const LAUREN = agentIdOf(GENESIS);
const PINNED = makeCertificate({ key: STRANGER, serialNumber: "77" });

function files(identity: object = {}, tables: Readonly<Record<string, object>> = {}) {
  return hostedFiles(identity, tables, {
    "handlers.mjs": "export const echo = ({ scopes }) => ({ body: { scopes } });",
    "agents/lauren.agent.json": JSON.stringify({ ...DOCUMENT, agent_id: LAUREN }),
    "agents/lauren.genesis.json": JSON.stringify(GENESIS),
    "agents/carol.agent.json": JSON.stringify({
      ...{ ...DOCUMENT, agent_id: CAROL, name: "carol" },
      cert_fingerprint: `sha256:${PINNED.fingerprint}`,
    }),
  });
}

const TLS = { tls: { client_auth: "optional", client_ca: "tls/ca.pem" } };

function ask(
  server: TestServer,
  headers: Readonly<Record<string, string>>,
  peer: Partial<Peer> = {},
  method = "QUERY",
): Promise<TestReply> {
  const path = method === "BOOK" ? "/rooms" : "/lists";
  return server.send({ method, path, headers }, peer);
}

function answerOf({ status, body }: TestReply): unknown {
  return [status, body["error"]?.["code"]];
}

const AS_ALICE = { "Agent-ID": ALICE };

// AGTP-CERT "Validation"
describe("an Agent Certificate", () => {
  const shared = shareServer(files());

  it.each<[string, Readonly<Record<string, string>>, object, unknown]>([
    ["its own agent", AS_ALICE, {}, [200, undefined]],
    ["another agent", { "Agent-ID": BOB }, {}, [401, "certificate-mismatch"]],
    ["an unknown agent", { "Agent-ID": UNKNOWN }, {}, [401, "certificate-mismatch"]],
    ["its owner", { ...AS_ALICE, "Owner-ID": "acme" }, { ownerId: "acme" }, [200, undefined]],
    ["no owner in the header", AS_ALICE, { ownerId: "acme" }, [200, undefined]],
    ["no owner in the certificate", { ...AS_ALICE, "Owner-ID": "acme" }, {}, [200, undefined]],
    [
      "another owner",
      { ...AS_ALICE, "Owner-ID": "acme" },
      { ownerId: "Acme" },
      [401, "certificate-mismatch"],
    ],
    [
      "its zone",
      { ...AS_ALICE, "AGTP-Zone-ID": "zone:eu" },
      { governanceZone: "zone:eu" },
      [200, undefined],
    ],
    ["no zone in the header", AS_ALICE, { governanceZone: "zone:eu" }, [200, undefined]],
    [
      "no zone in the certificate",
      { ...AS_ALICE, "AGTP-Zone-ID": "zone:us" },
      {},
      [200, undefined],
    ],
    [
      "another zone",
      { ...AS_ALICE, "AGTP-Zone-ID": "zone:us" },
      { governanceZone: "zone:eu" },
      [457, "zone-violation"],
    ],
  ])("with %s is answered accordingly", async (_, headers, agent, expected) => {
    expect(answerOf(await ask(shared(), headers, peerWith({ agent })))).toEqual(expected);
  });

  it("commits its agent to no more than it says, claimed or inherited", async () => {
    const peer = peerWith({ agent: { scopes: ["documents:read"] } });
    const book = (headers: object) => ask(shared(), { ...AS_ALICE, ...headers }, peer, "BOOK");
    expect(answerOf(await book({}))).toEqual([455, "scope-violation"]);
    const claimed = await book({ "Authority-Scope": "booking:room" });
    expect(answerOf(claimed)).toEqual([455, "scope-violation"]);
    expect(claimed.body["missing_scopes"]).toEqual(["booking:room"]);
    const held = { "Authority-Scope": "documents:read" };
    expect((await ask(shared(), { ...AS_ALICE, ...held }, peer)).status).toBe(200);
  });

  it("grants nothing that the document does not", async () => {
    const peer = peerWith({ agent: { scopes: ["orders:read"] } });
    const headers = { ...AS_ALICE, "Authority-Scope": "orders:read" };
    expect(answerOf(await ask(shared(), headers, peer))).toEqual([262, "scope-claim-invalid"]);
  });

  it("has a handler told what it and the document grant together", async () => {
    const scopesOf = async (scopes: readonly string[] | undefined) =>
      (await ask(shared(), AS_ALICE, peerWith({ agent: { scopes } }))).body["scopes"];
    expect(await scopesOf(undefined)).toEqual(["booking:*", "documents:read"]);
    expect(await scopesOf(["booking:room", "documents:*", "orders:read"])).toEqual([
      ...["documents:read", "booking:room"],
    ]);
    expect(await scopesOf([])).toEqual([]);
  });

  it("expires on an open connection", async () => {
    const now = Date.now();
    const valid = peerWith({ notAfter: now + 60_000, agent: {} });
    expect((await ask(shared(), AS_ALICE, valid)).status).toBe(200);
    const over = { certificate: { ...valid.certificate!, notAfter: now - 1 } };
    for (const headers of [AS_ALICE, {}]) {
      expect(answerOf(await ask(shared(), headers, over))).toEqual([401, "certificate-invalid"]);
    }
  });

  it("is refused for its fault, whoever presents it", async () => {
    for (const headers of [AS_ALICE, {}, { "Agent-ID": UNKNOWN }]) {
      const reply = await ask(shared(), headers, { certificateFault: "is not signed by a CA" });
      expect(answerOf(reply)).toEqual([401, "certificate-invalid"]);
    }
  });

  it("of a stranger commits it, too, where strangers are believed", async () => {
    const server = await openServer(files({ unknown_agents: "accept" }));
    const peer = peerWith({ agent: { agentId: UNKNOWN, scopes: ["booking:room"] } });
    const book = (claim: string) =>
      ask(server, { "Agent-ID": UNKNOWN, "Authority-Scope": claim }, peer, "BOOK");
    expect((await book("booking:room")).status).toBe(200);
    expect(answerOf(await book("booking:*"))).toEqual([455, "scope-violation"]);
  });
});

describe("a plain client certificate", () => {
  const shared = shareServer(files());

  it.each([
    ["by the key of its Genesis", LAUREN, peerWith({ key: AGENT })],
    ["by its fingerprint in the document", CAROL, { certificate: PINNED }],
  ])("is an agent's %s", async (_, agentId, peer) => {
    expect((await ask(shared(), { "Agent-ID": agentId }, peer)).status).toBe(200);
    const other = await ask(shared(), AS_ALICE, peer);
    expect(answerOf(other)).toEqual([401, "certificate-mismatch"]);
  });

  it("that is nobody's leaves the Agent-ID to the header", async () => {
    expect((await ask(shared(), AS_ALICE, peerWith())).status).toBe(200);
  });
});

describe('assurance = "certificate"', () => {
  const shared = shareServer({
    ...files({ assurance: "certificate" }, TLS),
    "tls/ca.pem": "",
  });

  it.each<[string, Readonly<Record<string, string>>, Partial<Peer>, unknown]>([
    ["an Agent Certificate", AS_ALICE, peerWith({ agent: {} }), [200, undefined]],
    ["its key", { "Agent-ID": LAUREN }, peerWith({ key: AGENT }), [200, undefined]],
    ["a pinned certificate", { "Agent-ID": CAROL }, { certificate: PINNED }, [200, undefined]],
    ["its word", AS_ALICE, {}, [401, "certificate-required"]],
    ["a certificate of nobody's", AS_ALICE, peerWith(), [401, "certificate-required"]],
    [
      "another's certificate",
      AS_ALICE,
      peerWith({ agent: { agentId: BOB } }),
      [401, "certificate-mismatch"],
    ],
    ["nothing at all", {}, {}, [262, "credentials-missing"]],
    ["no Agent-ID but its certificate", {}, peerWith({ agent: {} }), [262, "credentials-missing"]],
  ])("answers an agent with %s", async (_, headers, peer, expected) => {
    expect(answerOf(await ask(shared(), headers, peer))).toEqual(expected);
  });
});

// AGTP "Sessions"
describe("a session", () => {
  const shared = shareServer(files({ unknown_agents: "accept" }));
  let count = 0;

  async function begin(peer: Partial<Peer> = {}): Promise<string> {
    count += 1;
    const id = `session-${count}`;
    expect((await ask(shared(), { ...AS_ALICE, "Session-ID": id }, peer)).status).toBe(200);
    return id;
  }

  it.each<[string, Readonly<Record<string, string>>, Partial<Peer>]>([
    ["another agent", { "Agent-ID": BOB }, {}],
    ["a stranger", { "Agent-ID": UNKNOWN, "Authority-Scope": "a:b" }, {}],
    ["nobody", {}, {}],
    ["the agent over another TLS identity", AS_ALICE, peerWith({ serialNumber: "99" })],
  ])("is not taken over by %s, in the header or the body", async (_, headers, peer) => {
    const id = await begin();
    const inHeader = await ask(shared(), { ...headers, "Session-ID": id }, peer);
    expect(answerOf(inHeader)).toEqual([401, "session-mismatch"]);
    const body = { method: "DISCOVER", session_id: id, parameters: {} };
    const inBody = await shared().send({ method: "DISCOVER", headers, body }, peer);
    expect(answerOf(inBody)).toEqual([401, "session-mismatch"]);
    expect((await ask(shared(), { ...AS_ALICE, "Session-ID": id })).status).toBe(200);
  });

  it("that began with a certificate goes on with it alone", async () => {
    const peer = peerWith({ agent: {} });
    const id = await begin(peer);
    const headers = { ...AS_ALICE, "Session-ID": id };
    expect((await ask(shared(), headers, peer)).status).toBe(200);
    expect(answerOf(await ask(shared(), headers))).toEqual([401, "session-mismatch"]);
    const renewed = peerWith({ serialNumber: "20", agent: {} });
    expect(answerOf(await ask(shared(), headers, renewed))).toEqual([401, "session-mismatch"]);
  });

  it("that begins in a body is the agent's own, too", async () => {
    const body = { method: "QUERY", session_id: "in-the-body", parameters: {} };
    const request = { method: "QUERY", path: "/lists", body };
    expect((await shared().send({ ...request, headers: AS_ALICE })).status).toBe(200);
    const other = await shared().send({ ...request, headers: { "Agent-ID": BOB } });
    expect(answerOf(other)).toEqual([401, "session-mismatch"]);
    const inHeader = { "Agent-ID": BOB, "Session-ID": "in-the-body" };
    expect(answerOf(await ask(shared(), inHeader))).toEqual([401, "session-mismatch"]);
  });

  it("is what the header says where the body says another", async () => {
    const id = await begin();
    const headers = { "Agent-ID": BOB, "Session-ID": "bobs-own" };
    const body = { method: "QUERY", session_id: id, parameters: {} };
    const reply = await shared().send({ method: "QUERY", path: "/lists", headers, body });
    expect(reply.status).toBe(200);
  });

  it.each(["", "a b", "x".repeat(257), "\u00e9"])("has no such name: %j", async (id) => {
    const inHeader = await ask(shared(), { ...AS_ALICE, "Session-ID": id });
    expect(answerOf(inHeader)).toEqual([400, "invalid-identifier"]);
    const body = { method: "QUERY", session_id: id, parameters: {} };
    const request = { method: "QUERY", path: "/lists", headers: AS_ALICE, body };
    expect(answerOf(await shared().send(request))).toEqual([400, "invalid-identifier"]);
  });
});
