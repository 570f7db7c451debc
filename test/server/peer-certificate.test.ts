import { execFile } from "node:child_process";
import { randomBytes, X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { Dispatcher } from "../../src/dispatch/dispatcher.ts";
import { issueAgentCertificate, makeAgentCa } from "../../src/identity/certificate-authority.ts";
import { SendBudget } from "../../src/server/connection-limits.ts";
import { createListener, type Listener, type TlsIdentity } from "../../src/server/listener.ts";
import {
  createPeerCheck,
  Intermediates,
  type PeerRules,
} from "../../src/server/peer-certificate.ts";
import { makeCertificate, type TestCertificate } from "../support/certificate.ts";
import { connectRaw, type RawClient } from "../support/daemon.ts";
import { makeDirectory } from "../support/directory.ts";
import { LIMITS } from "../support/limits.ts";
import {
  agentExtensions,
  CA_EXTENSIONS,
  CLIENT_EXTENSIONS,
  OpensslPki,
} from "../support/openssl-pki.ts";

const AGENT_ID = "0123456789abcdef".repeat(4);
const AGENT = [...CLIENT_EXTENSIONS, ...agentExtensions(AGENT_ID, "owner-1", "booking:*")];
/** Certificate and key as a client shows them; the chain follows in `cert`. */
interface Shown {
  readonly cert: string;
  readonly key: string;
}

let pki: OpensslPki;
let server: TestCertificate;
let ca: string;
let agent: Shown;
const others: Record<"stranger" | "expired" | "plain" | "unsigned", Shown> = {
  ...{ stranger: { cert: "", key: "" }, expired: { cert: "", key: "" } },
  ...{ plain: { cert: "", key: "" }, unsigned: { cert: "", key: "" } },
};

beforeAll(async () => {
  server = await makeCertificate();
  pki = new OpensslPki();
  ca = pki.make("root", { extensions: CA_EXTENSIONS }).cert;
  const issuer = pki.make("ca", { issuer: "root", extensions: CA_EXTENSIONS }).cert;
  const { cert, key } = pki.make("agent", { issuer: "ca", extensions: AGENT });
  agent = { cert: cert + issuer, key };
  others.stranger = pki.make("stranger", { extensions: AGENT });
  others.unsigned = { cert, key };
  const notAfter = "20210101000000Z";
  others.expired = pki.make("expired", { issuer: "root", extensions: AGENT, notAfter });
  others.plain = pki.make("plain", { issuer: "root", key: "ed25519" });
});
afterAll(() => pki.remove());

/** Answers every request with what the server knows of its peer. */
const dispatcher: Dispatcher = {
  answer: ({ peer }) => ({
    ...{ status: 200, responseId: "", fields: "Content-Type: application/json\r\n" },
    body: JSON.stringify(peer),
  }),
  answerFault: () => ({ status: 400, responseId: "", fields: "", body: "{}" }),
};

interface TestListener {
  readonly listener: Listener;
  readonly port: number;
  readonly refused: (readonly [reason: string, address: string])[];
  identityOf(rules: Partial<PeerRules>): TlsIdentity;
  connect(options?: object): Promise<RawClient>;
}

async function open(
  rules: Partial<PeerRules>,
  ticketKeys: Buffer = randomBytes(48),
): Promise<TestListener> {
  const refused: [string, string][] = [];
  const identityOf = (changes: Partial<PeerRules>): TlsIdentity => ({
    ...{ ...server, clientAuth: "required", clientCa: ca },
    ...changes,
  });
  const listener = createListener({
    identity: { ...identityOf(rules), ticketKeys },
    limits: LIMITS,
    sendBudget: new SendBudget(LIMITS),
    dispatcher,
    ledger: { whenSettled: (done) => done(undefined) },
    onFault: (error) => {
      throw error;
    },
    onRefusedPeer: (...line) => refused.push(line),
  });
  const address = await listener.listen("127.0.0.1", 0);
  onTestFinished(() => listener.drain(0));
  const connect = async (options: object = {}): Promise<RawClient> => {
    const client = await connectRaw(address, options);
    onTestFinished(() => client.destroy());
    return client;
  };
  return { listener, port: address.port, refused, identityOf, connect };
}

const REQUEST = "AGTP/1.0 DISCOVER /\r\nContent-Length: 0\r\n\r\n";

/** What the server knows of a client; undefined when it closed the connection unanswered. */
async function askAs(client: RawClient) {
  client.write(REQUEST);
  const [reply] = await client.replies(1);
  return reply?.body;
}

describe("a listener with client_auth = none", () => {
  it("asks for no certificate", async () => {
    const { connect } = await open({ clientAuth: "none", clientCa: undefined });
    const peer = await askAs(await connect(agent));
    expect(Object.keys(peer ?? {})).toEqual(["address", "port"]);
  });
});

describe("a listener with client_auth = optional", () => {
  it("serves a peer without a certificate", async () => {
    const { connect } = await open({ clientAuth: "optional" });
    const peer = await askAs(await connect());
    expect(Object.keys(peer ?? {})).toEqual(["address", "port"]);
  });

  it("knows the agent of a certificate over an intermediate CA", async () => {
    const { connect } = await open({ clientAuth: "optional" });
    const peer = await askAs(await connect(agent));
    expect(peer?.["certificateFault"]).toBeUndefined();
    expect(peer?.["certificate"]?.["agent"]).toMatchObject({
      ...{ agentId: AGENT_ID, ownerId: "owner-1", scopes: ["booking:*"] },
    });
  });

  it("knows a plain certificate by its key", async () => {
    const { connect } = await open({ clientAuth: "optional" });
    const peer = await askAs(await connect(others.plain));
    expect(peer?.["certificate"]?.["agent"]).toBeUndefined();
    expect(peer?.["certificate"]?.["keyFingerprint"]).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each([
    ["stranger", "the certificate was not issued by a CA that this server trusts"],
    ["unsigned", "the certificate was not issued by a CA that this server trusts"],
    ["expired", "the certificate expired at 2021-01-01T00:00:00.000Z"],
  ] as const)("serves one that proves nothing, and says why: %s", async (name, fault) => {
    const { connect, refused } = await open({ clientAuth: "optional" });
    const peer = await askAs(await connect(others[name]));
    expect(peer).toMatchObject({ certificateFault: fault });
    expect(peer?.["certificate"]).toBeUndefined();
    expect(refused).toEqual([]);
  });
});

// A client says for itself how much there is to verify.
describe("a chain of certificates without end", () => {
  /** The agent's own, and so many others that have nothing to do with it. */
  const padded = (count: number): Shown => ({
    cert: agent.cert + others.stranger.cert.repeat(count),
    key: agent.key,
  });

  it("is not verified where it is longer than allowed, and says so", async () => {
    const { connect, refused, listener } = await open({ clientAuth: "optional" });
    for (const count of [7, 60]) {
      const peer = await askAs(await connect(padded(count)));
      expect(peer).toMatchObject({
        certificateFault: "the certificate came with more than 7 others",
      });
    }
    expect((await askAs(await connect(padded(6))))?.["certificate"]).toBeDefined();
    expect([refused, listener.connectionCount]).toEqual([[], 3]);
    const strict = await open({});
    const client = await strict.connect(padded(60));
    expect(await askAs(client)).toBeUndefined();
    expect(strict.refused[0]?.[0]).toBe("the certificate came with more than 7 others");
  });

  it("ends the handshake where it is longer than TLS reads, and nothing else", async () => {
    const { connect, listener } = await open({ clientAuth: "optional" });
    const known = await connect(agent);
    const attackers = await Promise.all(
      Array.from({ length: 8 }, () => connect(padded(400)).catch(() => undefined)),
    );
    for (const attacker of attackers) {
      expect(attacker && (await askAs(attacker).catch(() => undefined))).toBeUndefined();
      await attacker?.closed();
    }
    expect((await askAs(known))?.["certificate"]).toBeDefined();
    expect(listener.connectionCount).toBe(1);
  });
});

describe("a listener with client_auth = required", () => {
  it("serves an agent, time and again", async () => {
    const { connect, refused } = await open({});
    const first = await askAs(await connect(agent));
    const second = await askAs(await connect(agent));
    expect(first?.["certificate"]?.["agent"]?.["agentId"]).toBe(AGENT_ID);
    expect(second?.["certificate"]).toEqual(first?.["certificate"]);
    expect(refused).toEqual([]);
  });

  it("serves an agent of the issuer here", async () => {
    const made = makeAgentCa({ name: "agents", days: 30 });
    if ("fault" in made) throw new Error(made.fault);
    const { connect } = await open({ clientCa: ca + made.certificate });
    const request = { agentId: "f".repeat(64), name: "lauren", organization: "Acme" };
    const authority = { caKey: made.key ?? "", caCert: made.certificate };
    for (const keyKind of ["p256", "ed25519"] as const) {
      const issued = issueAgentCertificate({ ...request, ...authority, keyKind });
      if ("fault" in issued) throw new Error(issued.fault);
      const peer = await askAs(await connect({ cert: issued.certificate, key: issued.key }));
      expect(peer?.["certificate"]?.["agent"]?.["agentId"]).toBe("f".repeat(64));
    }
  });

  it.each([
    ["none", {}, "the peer showed no certificate"],
    ["stranger", undefined, "the certificate was not issued by a CA that this server trusts"],
    ["expired", undefined, "the certificate expired at 2021-01-01T00:00:00.000Z"],
  ] as const)("closes unanswered for a certificate that is %s", async (name, none, reason) => {
    const { connect, refused, listener } = await open({});
    const client = await connect(name === "none" ? none : others[name]);
    expect(await askAs(client)).toBeUndefined();
    await client.closed();
    expect(refused).toEqual([[reason, "127.0.0.1"]]);
    expect(listener.connectionCount).toBe(0);
  });

  it("says so once a second", async () => {
    const { connect, refused } = await open({});
    const clients = await Promise.all(new Array(20).fill(others.stranger).map(connect));
    for (const client of clients) await client.closed();
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThan(20);
  });

  it("serves the client of stock OpenSSL", async () => {
    const { port } = await open({});
    const directory = makeDirectory({ "chain.pem": agent.cert, "key.pem": agent.key });
    const files = ["-cert", "chain.pem", "-cert_chain", "chain.pem", "-key", "key.pem"];
    const client = execFile(
      "openssl",
      ["s_client", "-connect", `127.0.0.1:${port}`, "-quiet", ...files],
      {
        cwd: directory,
      },
    );
    client.stdin?.write(REQUEST);
    const [answer] = await once(client.stdout ?? client, "data");
    client.kill();
    expect(answer).toContain(AGENT_ID);
  });
});

describe("a listener that asks for certificates, and a session that is resumed", () => {
  /** Connects, and takes the session that the server offers to resume. */
  async function sessionOf(connect: TestListener["connect"], shown: object): Promise<Buffer> {
    const client = await connect(shown);
    const session = new Promise<Buffer>((resolve) => client.socket.once("session", resolve));
    expect(await askAs(client)).toBeDefined();
    client.destroy();
    return session;
  }

  it.each(["optional", "required"] as const)(
    "is the agent that began it: %s",
    async (clientAuth) => {
      const { connect } = await open({ clientAuth });
      for (const shown of [{}, agent]) {
        const client = await connect({ ...shown, session: await sessionOf(connect, agent) });
        expect(client.socket.isSessionReused()).toBe(true);
        expect((await askAs(client))?.["certificate"]?.["agent"]?.["agentId"]).toBe(AGENT_ID);
      }
    },
  );

  it("is the agent that began it at another process, once that has told of the intermediate CA", async () => {
    const ticketKeys = randomBytes(48);
    const told: Buffer[] = [];
    const here = new Intermediates();
    const first = await open(
      { intermediates: new Intermediates((der) => told.push(der)) },
      ticketKeys,
    );
    const second = await open({ intermediates: here }, ticketKeys);
    const session = await sessionOf(first.connect, agent);
    await sessionOf(first.connect, agent);
    expect(told).toHaveLength(1);
    expect(await askAs(await second.connect({ ...agent, session }))).toBeUndefined();
    for (const der of told) here.add(der);
    const resumed = await second.connect({ ...agent, session });
    expect(resumed.socket.isSessionReused()).toBe(true);
    expect((await askAs(resumed))?.["certificate"]?.["agent"]?.["agentId"]).toBe(AGENT_ID);
  });

  it("is found whatever else clients show, as long as only what led to an anchor is remembered", async () => {
    const told: Buffer[] = [];
    const { connect } = await open({ intermediates: new Intermediates((der) => told.push(der)) });
    const namesake = pki.make("namesake", { subject: "ca", extensions: CA_EXTENSIONS }).cert;
    const session = await sessionOf(connect, { ...agent, cert: agent.cert + namesake });
    expect(told).toHaveLength(1);
    expect(await askAs(await connect({ ...agent, session }))).toBeDefined();
  });

  it("is nobody where it began with nobody", async () => {
    const { connect } = await open({ clientAuth: "optional" });
    const client = await connect({ ...agent, session: await sessionOf(connect, {}) });
    expect(client.socket.isSessionReused()).toBe(true);
    expect((await askAs(client))?.["certificate"]).toBeUndefined();
  });

  it("does not let a session in that began before a certificate was required", async () => {
    const { connect, listener, identityOf, refused } = await open({ clientAuth: "none" });
    const session = await sessionOf(connect, {});
    const resumed = await connect({ session });
    expect(resumed.socket.isSessionReused()).toBe(true);
    listener.replace({
      limits: LIMITS,
      dispatcher,
      identity: identityOf({ clientAuth: "required" }),
    });
    expect(await askAs(await connect({ session }))).toBeUndefined();
    expect(refused).toEqual([["the peer showed no certificate", "127.0.0.1"]]);
  });

  it("does not let a session in that began under another client CA", async () => {
    const { connect, listener, identityOf, refused } = await open({});
    const session = await sessionOf(connect, agent);
    const clientCa = pki.make("new-root", { extensions: CA_EXTENSIONS }).cert;
    listener.replace({ limits: LIMITS, dispatcher, identity: identityOf({ clientCa }) });
    expect(await askAs(await connect({ ...agent, session }))).toBeUndefined();
    expect(refused).toEqual([
      ["the certificate was not issued by a CA that this server trusts", "127.0.0.1"],
    ]);
    listener.replace({ limits: LIMITS, dispatcher, identity: identityOf({ clientCa: ca }) });
    const known = await connect({ ...agent, session });
    expect(known.socket.isSessionReused()).toBe(false);
    expect(await askAs(known)).toBeDefined();
  });

  it("does not serve on a connection that was made under other rules", async () => {
    const { connect, listener, identityOf } = await open({});
    const client = await connect(agent);
    expect(await askAs(client)).toBeDefined();
    listener.replace({ limits: LIMITS, dispatcher, identity: identityOf({}) });
    client.write(REQUEST);
    expect(await client.replies(2)).toHaveLength(2);
    const clientCa = pki.make("another-root", { extensions: CA_EXTENSIONS }).cert;
    listener.replace({ limits: LIMITS, dispatcher, identity: identityOf({ clientCa }) });
    expect(await client.closed()).toHaveLength(2);
  });

  it("does not let one in whose certificate leads to no anchor by itself, or has expired", () => {
    const during = { notBefore: "20260101000000Z", notAfter: "20260102000000Z" };
    const { cert } = pki.make("brief", { issuer: "root", extensions: AGENT, ...during });
    const start = Date.UTC(2026, 0, 1);
    const verdictOf = (shown: string, now: number) => {
      const certificate = new X509Certificate(shown);
      const socket = { getPeerX509Certificate: () => certificate, isSessionReused: () => true };
      const rules = { clientAuth: "required", clientCa: ca } as const;
      return createPeerCheck(rules, () => now)?.(socket as unknown as TLSSocket);
    };
    expect(verdictOf(cert, start + 5)).toMatchObject({ kind: "admitted" });
    expect(verdictOf(cert, Date.UTC(2026, 0, 2) + 1)).toMatchObject({ kind: "refused" });
    // Of the CA between it and the anchor nothing is known here.
    expect(verdictOf(agent.cert, Date.now())).toEqual({
      kind: "refused",
      reason: "the certificate was not issued by a CA that this server trusts",
    });
  });
});

describe("createPeerCheck", () => {
  it("does not believe what it remembers past its time", () => {
    const during = { notBefore: "20260101000000Z", notAfter: "20260102000000Z" };
    const { cert } = pki.make("daily", { issuer: "root", extensions: AGENT, ...during });
    const certificate = new X509Certificate(cert);
    const socket = {
      getPeerX509Certificate: () => certificate,
      isSessionReused: () => false,
    } as unknown as TLSSocket;
    const start = Date.UTC(2026, 0, 1);
    const times = [start + 5, start + 6, start - 1, start + 7, Date.UTC(2026, 0, 2) + 1];
    const check = createPeerCheck({ clientAuth: "required", clientCa: ca }, () => times[0] ?? 0);
    const verdicts = new Array(5).fill(0).map(() => {
      const kind = check?.(socket).kind;
      times.shift();
      return kind;
    });
    expect(verdicts).toEqual(["admitted", "admitted", "refused", "admitted", "refused"]);
  });
});
