/** Two daemons that hand tasks on to each other, over TLS. */

import { hash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { taskHash } from "../../src/modules/delegation/request.ts";
import { signToken, type TokenClaims } from "../../src/modules/delegation/token.ts";
import { createRecordSigner } from "../../src/state/records/sealer.ts";
import { type AgtpPeer, reply as peerReply, startPeer } from "../support/agtp-peer.ts";
import { startProgram } from "../support/agtpd.ts";
import { askOnce, createDaemon, openDaemon, serve, type TestDaemon } from "../support/daemon.ts";
import {
  ALICE,
  BOB,
  BOOKING,
  CAROL,
  type Delegated,
  delegation,
  delegationFiles,
  refusalOf,
  serverKey,
  ZOE,
} from "../support/delegation.ts";
import {
  agentFile,
  createDeployment,
  type DeploymentFiles,
  makeDeployment,
  type TestDeployment,
} from "../support/deployment.ts";
import type { TestReply } from "../support/dispatch.ts";
import { PATIENCE } from "../support/patience.ts";
import { isSigned, readJournal, recordOf, walkChain } from "../support/records.ts";

const HOME_KEY = serverKey(21);
const AWAY_KEY = serverKey(22);
/** Hosted away alone. */
const ERIN = "1".repeat(64);
/** Hosted nowhere here. */
const FRANK = "2".repeat(64);

type Fields = Readonly<Record<string, string>>;
type Tables = Readonly<Record<string, object>>;

function filesOf(id: string, key: typeof HOME_KEY, peers: readonly object[], more: Tables = {}) {
  const tables = { server: { server_id: id }, signing: { key: "signing.pem" }, peers, ...more };
  return delegationFiles(tables, { "signing.pem": key.privatePem });
}

const HOME_AS_PEER = {
  ...{ name: "home", server_id: "home.example", public_key: HOME_KEY.text },
  ...{ scopes: ["booking:*"], accept_scopes: ["booking:*"] },
};

function awayAsPeer({ port, fingerprint256 }: { port: number; fingerprint256: string }) {
  return {
    ...{
      name: "away",
      server_id: "away.example",
      public_key: AWAY_KEY.text,
      agents: [ERIN, "erin"],
    },
    ...{ uri: `agtp://127.0.0.1:${port}`, fingerprint: fingerprint256 },
    ...{ scopes: ["booking:*"], accept_scopes: ["booking:*"] },
  };
}

/** The daemon that tasks go to; alice is nobody there. */
function openAway(more: Tables = {}): Promise<TestDaemon> {
  return openDaemon(awayFiles(more));
}

function awayFiles(more: Tables = {}): DeploymentFiles {
  const { "agents/alice.agent.json": _, ...files } = filesOf(
    "away.example",
    AWAY_KEY,
    [HOME_AS_PEER],
    more,
  );
  const erin = agentFile({ agent_id: ERIN, name: "erin" });
  return { ...files, "agents/erin.agent.json": erin };
}

/** The configuration alone, with other peers. */
function configOf(id: string, peers: readonly object[]): DeploymentFiles {
  const key = id === "home.example" ? HOME_KEY : AWAY_KEY;
  const { "agtp-server.toml": text = "" } = filesOf(id, key, peers);
  return { "agtp-server.toml": text };
}

async function openHome(peers: readonly object[], more: Tables = {}): Promise<TestDaemon> {
  return openDaemon(filesOf("home.example", HOME_KEY, peers, more));
}

interface Both {
  readonly home: TestDaemon;
  readonly away: TestDaemon;
}

/** Both, for all tests of a suite. */
function shareBoth(): () => Both {
  let both: Both | undefined;
  const away = createDeployment(awayFiles());
  let home: TestDeployment | undefined;
  beforeAll(async () => {
    const there = await createDaemon(away);
    home = createDeployment(filesOf("home.example", HOME_KEY, [awayAsPeer(there.daemon)]));
    both = { home: await createDaemon(home), away: there };
  });
  afterAll(async () => {
    await Promise.all([both?.home.close(), both?.away.close()]);
    away.remove();
    home?.remove();
  });
  return () => {
    if (both === undefined) throw new Error("the servers are not open yet");
    return both;
  };
}

async function send(
  { connect }: Pick<TestDaemon, "connect">,
  body: object,
  agentId: string = ALICE,
  more: Fields = {},
): Promise<TestReply> {
  const headers = { "Agent-ID": agentId, ...more };
  return askOnce({ connect }, { method: "DELEGATE", headers, body });
}

function delegate(server: TestDaemon, delegated: Delegated = {}): Promise<TestReply> {
  return send(server, delegation({ target: ERIN, ...delegated }));
}

async function bookings(server: TestDaemon): Promise<unknown> {
  const headers = { "Agent-ID": BOB, "Authority-Scope": "" };
  const reply = await askOnce(server, { method: "QUERY", path: "/counts", headers });
  return reply?.body["count"];
}

// AGTP "DELEGATE"
describe("DELEGATE to a peer", () => {
  const openBoth = shareBoth();

  it("has the task done there, and proves it with the records of both", async () => {
    const { home, away } = openBoth();
    const reply = await delegate(home, { more: { context: {} } });
    expect(reply.status).toBe(200);
    const { result } = reply.body;
    expect(result).toMatchObject({
      ...{ target_agent_id: ERIN, state: "completed", status: 200 },
      result: { booked: 2, agent: ERIN, scopes: ["booking:room"] },
      peer: { name: "away", server_id: "away.example" },
    });
    // The record of ours names what erin did, where it can be asked for, and that is in her chain.
    const { jws, payload } = recordOf(reply);
    expect(isSigned(jws, HOME_KEY.publicKey.key)).toBe(true);
    const [prior] = payload["prior_actions"] as readonly Record<string, string>[];
    expect(prior).toMatchObject({
      agent_id: ERIN,
      agent_uri: `agtp://${ERIN}@127.0.0.1:${away.daemon.port}`,
    });
    const journal = readJournal(join(away.directory, ".agtp/journal"));
    const erins = journal.find(({ auditId }) => auditId === prior?.["audit_id"]);
    expect(erins?.payload).toMatchObject({
      ...{ agent_id: ERIN, method: "BOOK", server_id: "away.example" },
      delegation_chain: [{ agent_id: ALICE, target_agent_id: ERIN, server_id: "home.example" }],
    });
    expect(isSigned(erins?.jws ?? "", AWAY_KEY.publicKey.key)).toBe(true);
    // Whom it does not know it keeps no chain of.
    expect(journal.filter(({ payload: { agent_id: id } }) => id === ALICE)).toEqual([]);
  });

  it.each(["erin", "away:erin", `away:${ERIN}`])("knows the agent as %s", async (target) => {
    const { home } = openBoth();
    expect((await delegate(home, { target })).status).toBe(200);
  });

  it.each([ERIN, "erin"])("goes both ways, and through both at once, by %s", async (target) => {
    const away = await openAway();
    const home = await openHome([awayAsPeer(away.daemon)]);
    const { port, fingerprint256 } = home.daemon;
    const reachable = {
      ...{ uri: `agtp://127.0.0.1:${port}`, fingerprint: fingerprint256.replaceAll(":", "") },
      agents: [CAROL, ALICE],
    };
    const { "agtp-server.toml": config = "" } = filesOf("away.example", AWAY_KEY, [
      { ...HOME_AS_PEER, ...reachable },
    ]);
    writeFileSync(join(away.directory, "agtp-server.toml"), config);
    expect(await away.daemon.reload()).toEqual([]);
    // carol is an agent of both; away, she is only one of home's where it hosts none of that name.
    const back = delegation({ target: `home:${CAROL}`, scopes: ["booking:room"] });
    const task = { method: "DELEGATE", parameters: back };
    const scopes = ["booking:room", "booking:read"];
    const reply = await delegate(home, { target, task, scopes });
    expect(reply.status).toBe(200);
    expect(reply.body["result"]?.["result"]?.["result"]).toMatchObject({ agent: CAROL });
    expect(reply.body["result"]?.["result"]?.["delegation_chain"]).toMatchObject([
      { agent_id: ALICE, target_agent_id: ERIN, server_id: "home.example" },
      { agent_id: ERIN, target_agent_id: CAROL, server_id: "away.example" },
    ]);
    // Round in a circle: away sends it back to her who began.
    const circle = { ...task, parameters: { ...back, target_agent_id: `home:${ALICE}` } };
    const looped = await delegate(home, { target, task: circle, scopes });
    expect(refusalOf(looped)).toEqual([551, "authority-chain-broken", "chain"]);
    expect(looped.body["peer_link"]).toEqual({
      ...{ index: 1, agent_id: ERIN, target_agent_id: ALICE },
    });
  });

  it("hands on no more than either operator lets it", async () => {
    const away = await openAway();
    const home = await openHome([
      { ...awayAsPeer(away.daemon), scopes: ["booking:*", "documents:*"] },
    ]);
    const offered = await openHome([awayAsPeer(away.daemon)]);
    const scopes = ["documents:read"];
    const there = await delegate(home, { scopes });
    expect(refusalOf(there)).toEqual([550, "delegation-failed", "sub-agent-failed"]);
    expect(there.body["outcome"]).toBe("not-begun");
    expect(there.body["sub_agent"]).toMatchObject({ status: 262, server_id: "away.example" });
    const here = await delegate(offered, { scopes });
    expect([here.status, here.body["type"]]).toEqual([262, "scope-required"]);
  });

  it("tells what the agent there was answered", async () => {
    const { home } = openBoth();
    const task = { ...BOOKING, parameters: { nights: 12 } };
    const reply = await delegate(home, { task });
    expect(refusalOf(reply)).toEqual([550, "delegation-failed", "sub-agent-failed"]);
    expect(reply.body["outcome"]).toBe("failed");
    expect(reply.body["sub_agent"]).toMatchObject({
      ...{ server_id: "away.example", status: 550 },
      sub_agent: { agent_id: ERIN, status: 422, error: { code: "room_unavailable" } },
    });
    expect(reply.body["prior_actions"]).toMatchObject([{ agent_id: ERIN }]);
  });

  it.each([200, 202, 261])("tells the task's own status, %i", async (status) => {
    const { home } = openBoth();
    const task = { method: "EXECUTE", path: "/tickets", parameters: { status } };
    const reply = await delegate(home, { task });
    const state = status === 200 ? "completed" : "accepted";
    const result = { ticket: 7 };
    expect(reply.body["result"]).toMatchObject({ state, status, result, peer: { name: "away" } });
  });

  it("stays in the zone of who handed on, there as well", async () => {
    const zone = "zone:eu";
    const erin = agentFile({ agent_id: ERIN, name: "erin", governance_zone: "zone:us" });
    const there = await openDaemon({ ...awayFiles(), "agents/erin.agent.json": erin });
    const away = await openAway();
    const to = (server: TestDaemon) => openHome([{ ...awayAsPeer(server.daemon), zone }]);
    const ask = async (home: TestDaemon, task: unknown, more: Fields = {}) => {
      const scopes = ["booking:room", "booking:read"];
      return send(home, delegation({ target: ERIN, task, scopes }), ALICE, more);
    };
    const further = (target: string) => ({
      method: "DELEGATE",
      parameters: delegation({ target, scopes: ["booking:room"] }),
    });
    const home = await to(away);
    const headers = { "AGTP-Zone-ID": zone };
    const outside = await ask(home, further(BOB), headers);
    expect(outside.body["sub_agent"]?.["sub_agent"]).toMatchObject({
      ...{ agent_id: ERIN, status: 457, error: { code: "zone-violation" } },
    });
    expect((await ask(home, further(ZOE), headers)).status).toBe(200);
    expect((await ask(home, further(BOB))).status).toBe(200);
    // The peer says of its own agent that it is elsewhere.
    const elsewhere = await ask(await to(there), BOOKING, headers);
    expect(elsewhere.body["sub_agent"]).toMatchObject({ status: 457 });
  });

  it("answers 403 for an agent that tasks may not go to", async () => {
    const { home, away } = openBoth();
    for (const target of ["away:frank", `agtp://${BOB}@127.0.0.1:${away.daemon.port}`]) {
      const reply = await delegate(home, { target });
      expect(refusalOf(reply)).toEqual([403, "delegation-forbidden", "agent-not-allowed"]);
    }
  });

  it("keeps the deadline there as well", async () => {
    const { home } = openBoth();
    const task = { method: "EXECUTE", path: "/waits" };
    const reply = await delegate(home, { task, more: { deadline: 0.4 } });
    expect(reply.status).toBe(550);
    expect(reply.body["reason"]).toBe("deadline");
    expect(reply.body["outcome"]).toBe("unknown");
  });

  it("does not take a peer's word for more tasks than it has connections", async () => {
    const away = await openAway();
    const home = await openHome([{ ...awayAsPeer(away.daemon), max_connections: 1 }]);
    const task = { method: "EXECUTE", path: "/waits" };
    const slow = delegate(home, { task, more: { deadline: 0.5 } });
    const second = delegate(home, { task, more: { deadline: 0.5 } });
    const reasons = (await Promise.all([slow, second])).map(({ body }) => body["reason"]);
    expect(reasons).toContain("peer-busy");
  });
});

describe("a peer that is not there", () => {
  it("cannot be reached", async () => {
    const away = await openAway();
    const home = await openHome([awayAsPeer(away.daemon)]);
    await away.close();
    const reply = await delegate(home);
    expect(refusalOf(reply)).toEqual([550, "delegation-failed", "peer-unreachable"]);
    expect(reply.body["outcome"]).toBe("not-begun");
    expect(reply.body["explanation"]).not.toContain("127.0.0.1");
  });

  it("is another one than the certificate says, or than the CA does", async () => {
    const away = await openAway();
    const peer = awayAsPeer(away.daemon);
    const pinned = await openHome([{ ...peer, fingerprint: "0".repeat(64) }]);
    const { fingerprint: _, ...unpinned } = peer;
    const trusting = await openHome([unpinned]);
    for (const home of [pinned, trusting]) {
      const reply = await delegate(home);
      expect(refusalOf(reply)).toEqual([550, "delegation-failed", "peer-untrusted"]);
      expect(reply.body["outcome"]).toBe("not-begun");
    }
    expect(await bookings(away)).toBe(0);
  });
});

describe("a peer that misbehaves", () => {
  async function against(
    answer: (peer: AgtpPeer) => Parameters<typeof startPeer>[0],
    more: object = {},
    ask: (home: TestDaemon) => Promise<TestReply> = delegate,
  ): Promise<TestReply> {
    let answering: Parameters<typeof startPeer>[0] = () => undefined;
    const peer = await startPeer((...given) => answering(...given));
    answering = answer(peer);
    const { fingerprint: _, ...away } = awayAsPeer({ port: peer.port, fingerprint256: "" });
    const files = filesOf("home.example", HOME_KEY, [{ ...away, ca: "away.pem", ...more }]);
    const home = await openDaemon({ ...files, "away.pem": peer.cert });
    try {
      return await ask(home);
    } finally {
      await peer.close();
    }
  }

  it("keeps one task waiting, and no other with it", async () => {
    const peer = await startPeer((socket, _, index) => {
      if (index === 1) socket.destroy();
    });
    onTestFinished(() => peer.close());
    const { fingerprint: _, ...away } = awayAsPeer({ port: peer.port, fingerprint256: "" });
    const files = filesOf("home.example", HOME_KEY, [{ ...away, ca: "away.pem" }]);
    const home = await openDaemon({ ...files, "away.pem": peer.cert });
    const kept = delegate(home);
    await vi.waitFor(() => expect(peer.requests).toHaveLength(1), PATIENCE);
    expect(refusalOf(await delegate(home))).toEqual([550, "delegation-failed", "peer-closed"]);
    await peer.close();
    expect(refusalOf(await kept)).toEqual([550, "delegation-failed", "peer-closed"]);
  });

  it("is waited for through a reload of this server", async () => {
    const peer = await startPeer(() => undefined);
    onTestFinished(() => peer.close());
    const { fingerprint: _, ...away } = awayAsPeer({ port: peer.port, fingerprint256: "" });
    const files = filesOf("home.example", HOME_KEY, [{ ...away, ca: "away.pem" }]);
    const home = await openDaemon({ ...files, "away.pem": peer.cert });
    const kept = delegate(home);
    await vi.waitFor(() => expect(peer.requests).toHaveLength(1), PATIENCE);
    expect(await home.daemon.reload()).toEqual([]);
    await peer.close();
    expect(refusalOf(await kept)).toEqual([550, "delegation-failed", "peer-closed"]);
  });

  it("is cut off in the middle of the work", async () => {
    const reply = await against(() => (socket) => socket.destroy());
    expect(refusalOf(reply)).toEqual([550, "delegation-failed", "peer-closed"]);
    expect(reply.body["outcome"]).toBe("unknown");
  });

  it("is killed in the middle of the work, and what it did before is proved all the same", async () => {
    const deployment = makeDeployment({
      ...awayFiles(),
      "handlers.mjs": `
        export const book = () => ({ body: { booked: 2 } });
        export const wait = () => new Promise(() => process.stdout.write('{"event":"working"}\\n'));
        export { book as count, book as receive, book as outcomes_of };
      `,
    });
    const program = await startProgram(deployment.configPath);
    const { port, ready } = program;
    const fingerprint256 = String(ready["fingerprint256"]);
    const home = await openHome([awayAsPeer({ port, fingerprint256 })]);
    expect((await delegate(home)).status).toBe(200);
    const slow = delegate(home, { task: { method: "EXECUTE", path: "/waits" } });
    await program.line("working");
    program.child.kill("SIGKILL");
    const reply = await slow;
    expect(refusalOf(reply)).toEqual([550, "delegation-failed", "peer-closed"]);
    expect(reply.body["outcome"]).toBe("unknown");
    const journal = readJournal(join(deployment.directory, ".agtp/journal"));
    expect(walkChain(journal, ERIN)).toHaveLength(1);
    const later = await delegate(home);
    expect(refusalOf(later)).toEqual([550, "delegation-failed", "peer-unreachable"]);
  });

  it("does not answer", async () => {
    const reply = await against(() => () => undefined, { timeout_seconds: 1 });
    expect(refusalOf(reply)).toEqual([550, "delegation-failed", "peer-timeout"]);
    expect(reply.body["outcome"]).toBe("unknown");
  });

  it("answers garbage", async () => {
    const reply = await against(() => (socket) => socket.write("HTTP/1.1 200 OK\r\n\r\n"));
    expect(refusalOf(reply)).toEqual([550, "delegation-failed", "peer-malformed"]);
  });

  it("is not believed without a record", async () => {
    const claimed = JSON.stringify({ status: 200, result: { result: { booked: 2 } } });
    const reply = await against(() => (socket) => socket.write(peerReply(claimed)));
    expect(refusalOf(reply)).toEqual([551, "authority-chain-broken", "record-unverified"]);
    expect(reply.body["link"]).toMatchObject({ index: 0, server_id: "away.example" });
    expect(reply.body["outcome"]).toBe("unknown");
    expect(reply.body).not.toHaveProperty("result");
  });

  it("leaves open what it did for an agent that was handed the task before", async () => {
    const claimed = JSON.stringify({ status: 200, result: { result: { booked: 2 } } });
    const scopes = ["booking:room", "booking:read"];
    const further = { target: `away:${ERIN}`, scopes: ["booking:room"] };
    const task = { method: "DELEGATE", parameters: delegation(further) };
    const reply = await against(
      () => (socket) => socket.write(peerReply(claimed)),
      {},
      (home) => delegate(home, { target: BOB, task, scopes }),
    );
    expect(refusalOf(reply)).toEqual([551, "authority-chain-broken", "chain"]);
    expect(reply.body["outcome"]).toBe("unknown");
  });

  it("is not believed where its record names what an agent of this server has never done", async () => {
    const signed = (body: string, request: string) => {
      const payload = {
        ...{ agent_id: ALICE, server_id: "away.example", method: "DELEGATE", status: 200 },
        ...{
          request_hash: `sha256:${hash("sha256", request)}`,
          result_hash: `sha256:${hash("sha256", body)}`,
        },
        prior_actions: [ERIN, BOB].map((agent_id) => ({ agent_id, audit_id: "0".repeat(64) })),
      };
      const record = createRecordSigner(AWAY_KEY.privateKey).sign(JSON.stringify(payload));
      return peerReply(
        body,
        "200 OK",
        `Attribution-Record: ${record}\r\nAudit-ID: ${hash("sha256", record)}\r\n`,
      );
    };
    const claimed = JSON.stringify({ status: 200, result: { result: { booked: 2 } } });
    const reply = await against(() => (socket, { body }) => {
      socket.write(signed(claimed, Buffer.from(body).toString()));
    });
    expect(refusalOf(reply)).toEqual([551, "authority-chain-broken", "record-unverified"]);
    expect(reply.body["explanation"]).toContain("of this server's agent");
    expect(recordOf(reply).payload).not.toHaveProperty("prior_actions");
  });

  it("is not believed with the record of another server, or of another answer", async () => {
    const strangers = await openAway({ server: { server_id: "other.example" } });
    const wrongId = await openHome([awayAsPeer(strangers.daemon)]);
    const first = await delegate(wrongId);
    expect(first.status).toBe(551);
    const otherKey = await openHome([
      { ...awayAsPeer((await openAway()).daemon), public_key: HOME_KEY.text },
    ]);
    const second = await delegate(otherKey);
    expect(refusalOf(second)).toEqual([551, "authority-chain-broken", "record-unverified"]);
  });
});

// AGTP "DELEGATE", RFC 8725
describe("the token of a task that arrives", () => {
  const TASK = BOOKING;
  const now = (): number => Date.now();
  const deployment = createDeployment(awayFiles());
  let away: TestDaemon;
  beforeAll(async () => {
    away = await createDaemon(deployment);
  });
  afterAll(async () => {
    await away.close();
    deployment.remove();
  });

  function claims(changes: Partial<TokenClaims> = {}): TokenClaims {
    return {
      ...{ issuer: "home.example", subject: ALICE, audience: "away.example", target: ERIN },
      ...{ scopes: ["booking:room"], chain: [], deadline: now() + 20_000 },
      ...{ id: `jti-${Math.random()}`, taskHash: taskHash(TASK) ?? "" },
      ...changes,
    };
  }

  async function arrive(
    changes: Partial<TokenClaims> = {},
    { key = HOME_KEY, at = now(), body = {}, agentId = ALICE, to = away } = {},
  ): Promise<TestReply> {
    const token = await signToken(claims(changes), key.privateKey, at);
    const written = { ...delegation({ target: ERIN, task: TASK }), delegation_token: token };
    return send(to, { ...written, ...body }, agentId);
  }

  it("lets an agent in that only the peer knows, for this and nothing else", async () => {
    expect((await arrive()).status).toBe(200);
    const without = await send(away, delegation({ target: ERIN }));
    expect([without.status, without.body["error"]?.["code"]]).toEqual([
      401,
      "agent-unauthenticated",
    ]);
    const token = await signToken(claims(), HOME_KEY.privateKey, now());
    const body = { action: "BOOK /rooms", delegation_token: token };
    const reply = await askOnce(away, { method: "EXECUTE", headers: { "Agent-ID": ALICE }, body });
    expect(reply?.status).toBe(401);
  });

  it.each<[string, Partial<TokenClaims>, object, string]>([
    ["forged", {}, { key: serverKey(99) }, "signature"],
    [
      "signed by the server itself",
      { issuer: "away.example" },
      { key: AWAY_KEY },
      "unknown-issuer",
    ],
    ["of an unknown server", { issuer: "evil.example" }, {}, "unknown-issuer"],
    ["for another server", { audience: "elsewhere.example" }, {}, "audience"],
    ["of another agent", { subject: BOB }, {}, "subject"],
    ["to another agent", { target: CAROL }, {}, "subject"],
    ["for another task", { taskHash: taskHash({ ...TASK, path: "/suites" }) ?? "" }, {}, "task"],
    ["with links that are not shown", { chain: ["0".repeat(64)] }, {}, "chain"],
    ["in a circle", { target: ALICE }, { body: { target_agent_id: ALICE } }, "loop"],
    ["with a scope that is none", { scopes: ["room"] }, {}, "malformed"],
    ["in a zone that is none", { zone: "z".repeat(513) }, {}, "malformed"],
    ["good for ever", { deadline: Date.now() + 10 * 86_400_000 }, {}, "malformed"],
    ["from the future", {}, { at: Date.now() + 3_600_000 }, "malformed"],
  ])("is not believed if it is %s", async (_, changes, options, reason) => {
    const before = await bookings(away);
    const reply = await arrive(changes, options);
    expect(refusalOf(reply)).toEqual([551, "authority-chain-broken", reason]);
    expect(reply.body["link"]).toMatchObject({ index: 0 });
    expect(await bookings(away)).toBe(before);
    expect(away.log.some(({ code, status }) => status === 551 || code === 551)).toBe(true);
  });

  it.each([BOB, ERIN])(
    "is not believed of an agent of the server that it comes to, %s",
    async (subject) => {
      const before = await bookings(away);
      const target = subject === ERIN ? CAROL : ERIN;
      const body = { target_agent_id: target };
      const reply = await arrive({ subject, target }, { agentId: subject, body });
      expect(refusalOf(reply)).toEqual([551, "authority-chain-broken", "subject"]);
      expect(reply.body["link"]).toMatchObject({ index: 0, agent_id: subject });
      expect(await bookings(away)).toBe(before);
      const journal = readJournal(join(deployment.directory, ".agtp/journal"));
      const links = journal.flatMap(({ payload }) => payload["delegation_chain"] ?? []);
      expect(links).not.toContainEqual(expect.objectContaining({ agent_id: subject }));
    },
  );

  it("is believed of the agents alone that the peer's entry lists", async () => {
    const gus = "5".repeat(64);
    const other = { ...HOME_AS_PEER, name: "other", server_id: "other.example", agents: [gus] };
    const peers = [{ ...HOME_AS_PEER, agents: [ALICE, "hal"] }, other];
    const listing = await openDaemon({ ...awayFiles(), ...configOf("away.example", peers) });
    const open = await openDaemon({
      ...awayFiles(),
      ...configOf("away.example", [HOME_AS_PEER, other]),
    });
    const ask = async (subject: string, to: TestDaemon) =>
      (await arrive({ subject }, { agentId: subject, to })).status;
    expect([await ask(ALICE, listing), await ask(FRANK, listing)]).toEqual([200, 551]);
    expect([await ask(FRANK, open), await ask(gus, open)]).toEqual([200, 551]);
  });

  it("is believed of the agents alone that the peer's manifest shows, where none are listed", async () => {
    const home = await openHome([]);
    const { port, fingerprint256 } = home.daemon;
    const reachable = { uri: `agtp://127.0.0.1:${port}`, fingerprint: fingerprint256 };
    const asking = async (more: object) =>
      openDaemon({
        ...awayFiles(),
        ...configOf("away.example", [{ ...HOME_AS_PEER, ...reachable, ...more }]),
      });
    const ask = async (subject: string, to: TestDaemon) =>
      (await arrive({ subject }, { agentId: subject, to })).status;
    const to = await asking({});
    expect([await ask(ALICE, to), await ask(FRANK, to)]).toEqual([200, 551]);
    // A name in the list is the agent of that name in the manifest.
    const named = await asking({ agents: ["alice"] });
    expect([await ask(ALICE, named), await ask(ZOE, named)]).toEqual([200, 551]);
    const mistaken = await asking({ server_id: "somebody.example" });
    const issuer = "somebody.example";
    expect((await arrive({ issuer }, { to: mistaken })).status).toBe(551);
    const gone = await asking({});
    await home.close();
    const reply = await arrive({}, { to: gone });
    expect(refusalOf(reply)).toEqual([551, "authority-chain-broken", "subject"]);
  });

  it("makes nobody of the sidecar's agent, and of no action inside another", async () => {
    const gateway = { enabled: true, port: 0, agent: "bob" };
    const open = await openAway({ gateway });
    const token = await signToken(claims({ subject: BOB }), HOME_KEY.privateKey, now());
    const body = { ...delegation({ target: ERIN, task: TASK }), delegation_token: token };
    const answer = await fetch(`http://127.0.0.1:${open.daemon.gatewayPort}/delegate`, {
      ...{ method: "POST", body: JSON.stringify(body) },
      headers: { "content-type": "application/json" },
    });
    const said = (await answer.json()) as { readonly reason?: string };
    expect([answer.headers.get("x-agtp-status"), said.reason]).toEqual(["551", "subject"]);
    const inner = { action: "DELEGATE /", parameters: body };
    const reply = await askOnce(open, {
      method: "EXECUTE",
      headers: { "Agent-ID": BOB },
      body: inner,
    });
    expect(reply?.status).not.toBe(200);
    expect(await bookings(open)).toBe(0);
  });

  it("has expired", async () => {
    const past = now() - 60_000;
    const reply = await arrive({ deadline: past }, { at: past - 1000 });
    expect(refusalOf(reply)).toEqual([551, "authority-chain-broken", "expired"]);
    const late = await arrive({ deadline: now() - 10 }, { at: past });
    expect(refusalOf(late)).toEqual([550, "delegation-failed", "deadline"]);
  });

  it("stays in the zone that its request names, where the token says none", async () => {
    const further = delegation({ target: BOB, scopes: ["booking:read"] });
    const task = { method: "DELEGATE", parameters: further };
    const scopes = ["booking:room", "booking:read"];
    const ask = async (fields: Fields) => {
      const changes = { taskHash: taskHash(task) ?? "", scopes };
      const token = await signToken(claims(changes), HOME_KEY.privateKey, now());
      const body = { ...delegation({ target: ERIN, task, scopes }), delegation_token: token };
      return (await send(away, body, ALICE, fields)).body["sub_agent"]?.["status"];
    };
    expect(await ask({ "AGTP-Zone-ID": "zone:eu" })).toBe(457);
    // The task is refused for what it hands on, and for nothing else.
    expect(await ask({})).toBe(550);
  });

  it("is good once, and after a restart no more", async () => {
    const lasting = createDeployment(awayFiles());
    onTestFinished(() => lasting.remove());
    const first = await createDaemon(lasting);
    const changes = { id: "once" };
    expect((await arrive(changes, { to: first })).status).toBe(200);
    const again = await arrive(changes, { to: first });
    expect(refusalOf(again)).toEqual([551, "authority-chain-broken", "replayed"]);
    expect(await bookings(first)).toBe(1);
    await first.close();
    const second = await serve(lasting);
    const later = await arrive(changes, { to: second });
    expect(refusalOf(later)).toEqual([551, "authority-chain-broken", "replayed"]);
  });

  it("is not good again because the clock stepped back behind what was forgotten", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const lasting = createDeployment(awayFiles());
    onTestFinished(() => lasting.remove());
    const first = await createDaemon(lasting);
    const start = now();
    const once = { id: "once", deadline: start + 15_000 };
    expect((await arrive(once, { to: first })).status).toBe(200);
    vi.setSystemTime(start + 3 * 3_600_000);
    expect((await arrive({ id: "other", deadline: now() + 15_000 }, { to: first })).status).toBe(
      200,
    );
    vi.setSystemTime(start);
    const expired = [551, "authority-chain-broken", "expired"];
    expect(refusalOf(await arrive(once, { to: first }))).toEqual(expired);
    await first.close();
    const second = await serve(lasting);
    expect(refusalOf(await arrive(once, { to: second }))).toEqual(expired);
  });

  it("may not bring more than the operator accepts", async () => {
    const reply = await arrive({ scopes: ["payments:send"] });
    expect([reply.status, reply.body["type"]]).toEqual([262, "scope-required"]);
    const wider = await arrive({}, { body: { authority_scope: ["booking:*"] } });
    expect([wider.status, wider.body["type"]]).toEqual([262, "scope-required"]);
  });

  it("comes with every link before it, each of a known server", async () => {
    const first = claims({ subject: FRANK, target: ALICE, audience: "home.example" });
    const earlier = (changes: Partial<TokenClaims>, key = HOME_KEY) =>
      signToken({ ...first, scopes: ["booking:*"], ...changes }, key.privateKey, now());
    const behind = async (token: string, changes: Partial<TokenClaims> = {}) => {
      const chain = { chain: [hash("sha256", token)], deadline: now() + 15_000, ...changes };
      return arrive(chain, { body: { delegation_chain: [token] } });
    };
    expect((await behind(await earlier({}))).status).toBe(200);
    // A name is resolved by the server that it was said to, which signs the next link.
    expect((await behind(await earlier({ target: "alice" }))).status).toBe(200);
    const cases: readonly (readonly [Promise<string>, string, number])[] = [
      [earlier({}, serverKey(98)), "signature", 0],
      [earlier({ issuer: "gone.example" }), "unknown-issuer", 0],
      [earlier({ target: CAROL }), "subject", 1],
      [earlier({ audience: "away.example" }), "audience", 1],
      [earlier({ scopes: ["booking:read"] }), "scope", 1],
      [earlier({ scopes: ["booking:room"] }), "scope", 1],
      [earlier({ deadline: now() + 5_000 }), "expired", 1],
      [earlier({ subject: ERIN }), "loop", 1],
      // An agent of the very server that the task comes to, further up in the chain.
      [earlier({ subject: BOB }), "subject", 0],
      [earlier({ subject: "frank" }), "malformed", 0],
    ];
    // Between two zones there is no work that stays in both.
    const zoned = await behind(await earlier({ zone: "zone:eu" }), { zone: "zone:us" });
    expect(refusalOf(zoned)).toEqual([551, "authority-chain-broken", "chain"]);
    expect(zoned.body["link"]?.["index"]).toBe(1);
    for (const [token, reason, index] of cases) {
      const reply = await behind(await token);
      expect(refusalOf(reply)).toEqual([551, "authority-chain-broken", reason]);
      expect(reply.body["link"]?.["index"]).toBe(index);
    }
  });

  it.each([7, null, ["x"], { a: 1 }])("is no text but %j", async (delegation_token) => {
    const reply = await send(away, { ...delegation({ target: ERIN }), delegation_token });
    expect(refusalOf(reply)).toEqual([551, "authority-chain-broken", "malformed"]);
  });
});
