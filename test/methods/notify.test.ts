import { describe, expect, it } from "vitest";
import type { Peer } from "../../src/dispatch/peer.ts";
import { openServer, shareServer, type TestReply, type TestServer } from "../support/dispatch.ts";
import { AGENT, ISSUER, STRANGER } from "../support/genesis.ts";
import {
  ALICE,
  BOB,
  hostedFiles,
  ISSUER_PEER,
  makeCertificate,
  peerWith,
  UNKNOWN,
} from "../support/hosted-agents.ts";

const CONTENT = {
  event_type: "certificate_revoked",
  agent_id: ALICE,
  certificate_serial: "00:1F",
  revocation_reason: "key-compromise",
};
const QUERY = { method: "QUERY", path: "/lists", headers: { "Agent-ID": ALICE } };

function notify(
  server: TestServer,
  content: object | string = CONTENT,
  peer: Partial<Peer> = ISSUER_PEER,
  headers: Readonly<Record<string, string>> = {},
): Promise<TestReply> {
  const body = { recipient: "infrastructure:broadcast", content };
  return server.send({ method: "NOTIFY", headers, body }, peer);
}

// AGTP-CERT "Revocation"
describe("NOTIFY of a revoked certificate", () => {
  const shared = shareServer(hostedFiles());

  it("has the certificate refused from the next request on, on open connections too", async () => {
    const server = await openServer(hostedFiles());
    const peer = peerWith({ serialNumber: "1f", agent: { agentId: ALICE } });
    expect((await server.send(QUERY, peer)).status).toBe(200);
    const receipt = await notify(server);
    expect(receipt.status).toBe(200);
    expect(receipt.body["result"]).toEqual({
      notification_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      recipient: "infrastructure:broadcast",
      delivered: true,
    });
    const refused = await server.send(QUERY, peer);
    expect([refused.status, refused.body["error"]?.["code"]]).toEqual([401, "certificate-revoked"]);
    const other = peerWith({ serialNumber: "20", agent: { agentId: ALICE } });
    expect((await server.send(QUERY, other)).status).toBe(200);
  });

  it("counts for the agent that it names alone", async () => {
    const server = await openServer(hostedFiles());
    await notify(server);
    const peer = peerWith({ serialNumber: "1f", agent: { agentId: BOB } });
    const request = { ...QUERY, headers: { "Agent-ID": BOB } };
    expect((await server.send(request, peer)).status).toBe(200);
  });

  it("takes away what the certificate proved without an Agent-ID, too", async () => {
    const server = await openServer(hostedFiles());
    const issuer = peerWith({ key: ISSUER, serialNumber: "1f" });
    expect((await notify(server, CONTENT, issuer)).status).toBe(200);
    const body = { agent_id: ALICE, reason: "a test" };
    const revoked = await server.send({ method: "REVOKE", body }, issuer);
    expect([revoked.status, revoked.body["error"]?.["code"]]).toEqual([401, "certificate-revoked"]);
    const renewed = peerWith({ key: ISSUER, serialNumber: "20" });
    expect((await server.send({ method: "REVOKE", body }, renewed)).status).toBe(200);
  });

  it("leaves an operator in office", async () => {
    const operator = makeCertificate({ key: AGENT, serialNumber: "1f" });
    const files = hostedFiles({ operator_certificates: [operator.spkiFingerprint] });
    const server = await openServer(files);
    await notify(server);
    const body = { agent_id: ALICE, reason: "a test" };
    const reply = await server.send({ method: "REVOKE", body }, { certificate: operator });
    expect(reply.status).toBe(200);
  });

  it.each<[string, Partial<Peer>, Readonly<Record<string, string>>, number, string]>([
    ["nobody", {}, {}, 262, "credentials-missing"],
    ["the agent, by its word", {}, { "Agent-ID": ALICE }, 401, "genesis-issuer-cert-required"],
    ["another issuer", peerWith({ key: STRANGER }), {}, 403, "lifecycle-forbidden"],
    ["a certificate", peerWith(), {}, 403, "lifecycle-forbidden"],
  ])("is not taken from %s", async (_, peer, headers, status, code) => {
    const server = shared();
    const reply = await notify(server, CONTENT, peer, headers);
    expect([reply.status, reply.body["error"]?.["code"]]).toEqual([status, code]);
    const own = peerWith({ serialNumber: "1f", agent: { agentId: ALICE } });
    expect((await server.send(QUERY, own)).status).toBe(200);
  });

  it.each([
    { certificate_serial: "xyz" },
    { certificate_serial: 31 },
    { certificate_serial: "" },
    { certificate_serial: "f".repeat(41) },
    { agent_id: 7 },
    { agent_id: undefined },
  ])("answers 422 for %j", async (changes) => {
    expect((await notify(shared(), { ...CONTENT, ...changes })).status).toBe(422);
  });

  it("answers an operator 404 for an agent that is not hosted", async () => {
    const operator = makeCertificate({ key: AGENT });
    const files = hostedFiles({ operator_certificates: [operator.keyFingerprint] });
    const server = await openServer(files);
    const reply = await notify(
      server,
      { ...CONTENT, agent_id: UNKNOWN },
      { certificate: operator },
    );
    expect([reply.status, reply.body["error"]?.["code"]]).toEqual([404, "agent-not-found"]);
  });
});

// AGTP "NOTIFY"
describe("NOTIFY", () => {
  const shared = shareServer(hostedFiles());

  it.each([{}, { recipient: "x" }, { content: {} }, { recipient: "", content: {} }])(
    "answers 422 for %j",
    async (body) => {
      const headers = { "Agent-ID": BOB };
      expect((await shared().send({ method: "NOTIFY", headers, body })).status).toBe(422);
    },
  );

  it.each([
    { event_type: "something else" },
    "certificate_revoked",
    {},
    { event_type: "certificate_revoked" },
  ])("claims to have delivered nothing: %j", async (content) => {
    const body = { recipient: "somebody", content };
    const reply = await shared().send({ method: "NOTIFY", headers: { "Agent-ID": BOB }, body });
    expect(reply.status).toBe(501);
  });
});
