/** What issuers and agents can do by their certificates, over TLS. */
import { createPrivateKey, hash } from "node:crypto";
import { afterAll, describe, expect, it } from "vitest";
import { publicKeyOf } from "../../src/identity/ed25519.ts";
import { openDaemon, type RawClient, type TestDaemon } from "../support/daemon.ts";
import { encodeRequest, type TestReply, type TestRequest } from "../support/dispatch.ts";
import { agentIdOf, DOCUMENT, DRAFT, signGenesis, type TestKey } from "../support/genesis.ts";
import { hostedFiles } from "../support/hosted-agents.ts";
import {
  agentExtensions,
  CA_EXTENSIONS,
  CLIENT_EXTENSIONS,
  type OpensslCertificate,
  OpensslPki,
} from "../support/openssl-pki.ts";
import { recordOf } from "../support/records.ts";

const pki = new OpensslPki();
afterAll(() => pki.remove());

const CA = pki.make("ca", { extensions: CA_EXTENSIONS });
const ISSUER = pki.make("issuer", { issuer: "ca", key: "ed25519" });
const OTHER = pki.make("other", { issuer: "ca", key: "ed25519" });
const GENESIS = signGenesis({ ...DRAFT, issuer_public_key: keyOf(ISSUER).text }, keyOf(ISSUER));
const DANA = agentIdOf(GENESIS);
const DANAS = pki.make("dana", {
  issuer: "ca",
  extensions: [...CLIENT_EXTENSIONS, ...agentExtensions(DANA)],
});

/** The key of a certificate, as operators list it. */
const DANAS_KEY = hash("sha256", DANAS.x509.publicKey.export({ type: "spki", format: "der" }));

function keyOf({ key }: OpensslCertificate): TestKey {
  const privateKey = createPrivateKey(key);
  const publicKey = publicKeyOf(privateKey);
  if (publicKey === undefined) throw new Error("no Ed25519 key");
  return { privateKey, publicKey, text: publicKey.text, pem: "" };
}

function start(identity: object = { inspect_acl: "agent_only" }): Promise<TestDaemon> {
  const tls = { client_auth: "optional", client_ca: "ca.pem" };
  return openDaemon(
    hostedFiles(
      identity,
      { tls },
      {
        "ca.pem": CA.cert,
        "agents/dana.agent.json": JSON.stringify({ ...DOCUMENT, agent_id: DANA, name: "dana" }),
        "agents/dana.genesis.json": JSON.stringify(GENESIS),
      },
    ),
  );
}

/** A connection on which one request follows another. */
async function connectAs(daemon: TestDaemon, as?: OpensslCertificate) {
  const client: RawClient = await daemon.connect(as && { cert: as.cert, key: as.key });
  let count = 0;
  return async (request: TestRequest): Promise<TestReply> => {
    client.write(encodeRequest(request));
    count += 1;
    const reply = (await client.replies(count))[count - 1];
    if (reply === undefined) throw new Error("the connection was closed");
    return reply;
  };
}

const AS_DANA = { "Agent-ID": DANA };
const QUERY = { method: "QUERY", path: "/lists", headers: AS_DANA };
/** DANA's certificate, out of use. */
function revocationOf({ x509 }: OpensslCertificate): object {
  const content = {
    event_type: "certificate_revoked",
    agent_id: DANA,
    certificate_serial: x509.serialNumber,
    revocation_reason: "key-compromise",
  };
  return { recipient: "infrastructure:broadcast", content };
}

const CHANGE = { agent_id: DANA, reason: "a test" };

// AGTP "Lifecycle Authorization"
describe("a connection with a certificate", () => {
  it("of an agent's issuer decides over the agent's life", async () => {
    const daemon = await start();
    const [issuer, dana] = [await connectAs(daemon, ISSUER), await connectAs(daemon, DANAS)];
    const first = await dana(QUERY);
    expect(first.status).toBe(200);
    expect(recordOf(first).payload["identity_assurance"]).toBe("certificate-bound");
    expect((await issuer({ method: "DEACTIVATE", body: CHANGE })).status).toBe(200);
    expect((await dana(QUERY)).status).toBe(503);
    const path = "/agents/dana";
    expect((await issuer({ method: "REINSTATE", path, body: {} })).status).toBe(200);
    expect((await dana(QUERY)).status).toBe(200);
    expect((await issuer({ method: "REVOKE", body: CHANGE })).status).toBe(200);
    expect((await dana(QUERY)).status).toBe(410);
    const stream = { target: "lifecycle" };
    const seen = await dana({ method: "INSPECT", headers: AS_DANA, body: stream });
    expect(seen.body["result"]).toMatchObject({ status: "retired", event_count: 3 });
  });

  it("of anybody else does not", async () => {
    const daemon = await start();
    const cases = [
      [OTHER, {}, 403],
      [DANAS, AS_DANA, 403],
      [undefined, AS_DANA, 401],
      [undefined, {}, 262],
    ] as const;
    for (const [certificate, headers, status] of cases) {
      const ask = await connectAs(daemon, certificate);
      expect((await ask({ method: "REVOKE", headers, body: CHANGE })).status).toBe(status);
    }
    expect((await (await connectAs(daemon, DANAS))(QUERY)).status).toBe(200);
  });
});

// AGTP-CERT "Revocation"
describe("a certificate that is revoked", () => {
  it("is refused before the next request on a connection that is open", async () => {
    const daemon = await start();
    const [issuer, dana] = [await connectAs(daemon, ISSUER), await connectAs(daemon, DANAS)];
    expect((await dana(QUERY)).status).toBe(200);
    expect((await issuer({ method: "NOTIFY", body: revocationOf(DANAS) })).status).toBe(200);
    const refused = await dana(QUERY);
    expect([refused.status, refused.body["error"]?.["code"]]).toEqual([401, "certificate-revoked"]);
    const again = await (await connectAs(daemon, DANAS))(QUERY);
    expect(again.status).toBe(401);
  });

  it("gives an operator nothing either, who leaves the Agent-ID out", async () => {
    const operator_certificates = [DANAS_KEY];
    const daemon = await start({ operator_certificates, inspect_acl: "operator_only" });
    const [issuer, dana] = [await connectAs(daemon, ISSUER), await connectAs(daemon, DANAS)];
    const looksBack = { method: "INSPECT", body: { target: "lifecycle", agent_id: DANA } };
    expect((await dana(looksBack)).status).toBe(200);
    expect((await issuer({ method: "NOTIFY", body: revocationOf(DANAS) })).status).toBe(200);
    for (const request of [looksBack, { method: "DEACTIVATE", body: CHANGE }]) {
      const { status, body } = await dana(request);
      expect([status, body["error"]?.["code"]]).toEqual([401, "certificate-revoked"]);
    }
  });
});
