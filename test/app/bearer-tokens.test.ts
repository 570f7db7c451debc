import { createHash } from "node:crypto";
import { afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { createMemoryStore } from "../../src/state/memory-store.ts";
import { askOnce, openDaemon } from "../support/daemon.ts";
import { configFile } from "../support/deployment.ts";
import { makeDirectory } from "../support/directory.ts";
import { ALICE, discoveryFiles } from "../support/discovery.ts";
import { encodeRequest, openServer, type TestReply } from "../support/dispatch.ts";
import { openJwksServer } from "../support/jwks-server.ts";
import { CA_EXTENSIONS, OpensslPki } from "../support/openssl-pki.ts";
import { PATIENCE } from "../support/patience.ts";
import { recordOf } from "../support/records.ts";
import { openTestState } from "../support/state.ts";
import { ISSUER, type IssuerKey, makeIssuerKey, signToken } from "../support/token-issuer.ts";

let key: IssuerKey;

beforeAll(async () => {
  key = await makeIssuerKey();
});

afterEach(() => {
  vi.useRealTimers();
});

/** The issuer and the server live by the system's clock here. */
function freshClaims(claims: Readonly<Record<string, unknown>> = {}) {
  const now = Math.floor(Date.now() / 1000);
  return { iss: ISSUER, sub: "ada", iat: now, exp: now + 60, ...claims };
}

function files(oauth: Readonly<Record<string, unknown>>, tables: object = {}) {
  return {
    ...discoveryFiles(),
    "jwks.json": JSON.stringify({ keys: [key.jwk] }),
    "agtp-server.toml": configFile({
      policies: { oauth: { issuer: ISSUER, ...oauth } },
      ...tables,
    }),
  };
}

function booking(authorization?: string) {
  const more = authorization === undefined ? {} : { Authorization: authorization };
  return { method: "BOOK", path: "/room", headers: { "Agent-ID": ALICE, ...more } };
}

// AGTP "Authorization"
describe("a bearer token", () => {
  it("names the principal to the handler and in the record, and stays out of both", async () => {
    const server = await openServer(files({ jwks_file: "jwks.json" }));
    const token = await signToken(key, freshClaims());
    const reply = await server.send(booking(`Bearer ${token}`));
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({ principal_id: "ada" });
    expect(recordOf(reply).payload).toMatchObject({ principal_id: "ada", agent_id: ALICE });
    for (const part of token.split("."))
      expect(JSON.stringify(recordOf(reply).payload)).not.toContain(part);
  });

  it("is not among the headers that a handler gets, which may log them", async () => {
    const showHeaders = "export const echo = ({ headers }) => ({ body: { headers } });";
    const oauth = { policies: { oauth: { issuer: ISSUER, jwks_file: "jwks.json" } } };
    const send = async (tables: Readonly<Record<string, object>>) => {
      const deployment = { ...files({}), "handlers.mjs": showHeaders };
      const server = await openServer({ ...deployment, "agtp-server.toml": configFile(tables) });
      const { body } = await server.send(booking(`Bearer ${await signToken(key, freshClaims())}`));
      return body["headers"];
    };
    expect(await send(oauth)).not.toHaveProperty("authorization");
    expect(await send(oauth)).toMatchObject({ "agent-id": ALICE });
    // A header that the server makes nothing of is the handler's business.
    expect(await send({})).toHaveProperty("authorization");
  });

  it("is over for good once it was over, though the clock steps back and another configuration is served", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const deployment = files({ jwks_file: "jwks.json" });
    const state = await openTestState(makeDirectory(), createMemoryStore());
    const authorization = `Bearer ${await signToken(key, freshClaims())}`;
    const statusAt = async (): Promise<number> => {
      const server = await openServer(deployment, {
        state: { ...state, close: async () => undefined },
      });
      return (await server.send(booking(authorization))).status;
    };
    expect(await statusAt()).toBe(200);
    vi.setSystemTime(Date.now() + 3_600_000);
    expect(await statusAt()).toBe(401);
    vi.setSystemTime(Date.now() - 3_600_000);
    expect(await statusAt()).toBe(401);
  });

  it("narrows what the agent holds by its scopes, and opens nothing", async () => {
    const server = await openServer(files({ jwks_file: "jwks.json" }));
    const book = async (scope: unknown, claim?: string) => {
      const request = booking(`Bearer ${await signToken(key, freshClaims({ scope }))}`);
      const more = claim === undefined ? {} : { "Authority-Scope": claim };
      const { status, body } = await server.send({
        ...request,
        headers: { ...request.headers, ...more },
      });
      return status === 200 ? body["scopes"] : status;
    };
    expect(await book("booking:room booking:bath")).toEqual(["booking:room"]);
    expect(await book("booking:*")).toEqual(["booking:room"]);
    // Scopes of other protocols are no scopes here.
    expect(await book("openid profile")).toEqual(["booking:room"]);
    expect(await book("booking:bath")).toBe(455);
    expect(await book(["booking:bath"], "booking:room")).toBe(455);
    expect(await book("booking:bath", "booking:bath")).toBe(262);
  });

  // RFC 8705 §3
  it("that is bound to a client certificate holds with that one alone", async () => {
    const pki = new OpensslPki();
    onTestFinished(() => pki.remove());
    const { cert: ca } = pki.make("ca", { extensions: CA_EXTENSIONS });
    const [own, other] = ["own", "other"].map((name) => pki.make(name, { issuer: "ca" }));
    const tls = { client_auth: "optional", client_ca: "ca.pem" };
    const daemon = await openDaemon({
      ...files({ jwks_file: "jwks.json" }, { tls }),
      "ca.pem": ca,
    });
    const thumbprint = createHash("sha256").update(own?.x509.raw ?? "");
    const cnf = { "x5t#S256": thumbprint.digest("base64url") };
    const request = booking(`Bearer ${await signToken(key, freshClaims({ cnf }))}`);
    const replies = [];
    // The verdict on the token is remembered from the first on; whom it holds for is not.
    for (const connection of [own, other, {}]) {
      const { status, body } = await askOnce(daemon, request, connection);
      replies.push([status, body["reason"] ?? body["principal_id"]]);
    }
    expect(replies).toEqual([
      [200, "ada"],
      [401, "oauth-invalid"],
      [401, "oauth-invalid"],
    ]);
  });

  it("that names an agent holds for that one alone", async () => {
    const oauth = { jwks_file: "jwks.json", agent_claim: "agent", required_on_methods: ["BOOK"] };
    const daemon = await openDaemon(files(oauth));
    const replies = [];
    for (const agent of [ALICE, "b".repeat(64), "alice", 7, undefined]) {
      const token = await signToken(key, freshClaims({ agent }));
      const { status, body } = await askOnce(daemon, booking(`Bearer ${token}`));
      replies.push([status, body["reason"] ?? body["principal_id"]]);
    }
    expect(replies).toEqual([
      [200, "ada"],
      ...[1, 2, 3].map(() => [401, "oauth-invalid"]),
      // It says nothing of agents: it is a principal's.
      [200, "ada"],
    ]);
  });

  it("is not asked for where it is optional, and must hold where it is given", async () => {
    const server = await openServer(files({ jwks_file: "jwks.json" }));
    expect((await server.send(booking())).body).toMatchObject({ principal_id: null });
    for (const value of ["Bearer x.y.z", "Basic YWRhOmFkYQ=="]) {
      const { status, body } = await server.send(booking(value));
      expect(status).toBe(401);
      expect(body).toMatchObject({ reason: "oauth-invalid", error: { code: "oauth-invalid" } });
    }
  });

  it("is asked for by methods that need one", async () => {
    const server = await openServer(
      files({ jwks_file: "jwks.json", required_on_methods: ["BOOK"] }),
    );
    const { status, body } = await server.send(booking());
    expect(status).toBe(401);
    expect(body).toMatchObject({ reason: "oauth-required", error: { code: "oauth-required" } });
    const good = await server.send(booking(`Bearer ${await signToken(key, freshClaims())}`));
    expect(good.status).toBe(200);
  });

  it.each([
    ["ZAPP", "it is no method of this server"],
    ["GET", 'it is an alias, and judged as "FETCH"'],
  ])("is asked for by no method where %s is named, with a warning", async (name, reason) => {
    const oauth = { jwks_file: "jwks.json", required_on_methods: ["BOOK", name] };
    const { problems } = await openServer(files(oauth), { isClean: false });
    expect(problems).toEqual([
      {
        file: "agtp-server.toml",
        key: "policies.oauth.required_on_methods[1]",
        message: `"${name}" has no effect: ${reason}`,
        severity: "warning",
      },
    ]);
  });

  it("makes the start fail when the keys are not there", async () => {
    const deployment = { ...files({ jwks_file: "jwks.json" }), "jwks.json": "{}" };
    await expect(openServer(deployment)).rejects.toThrow(/policies\.oauth\.jwks_file/);
  });
});

describe("an issuer behind a URL", () => {
  it("may be down at the start, may rotate its keys, and no token gets into the log", async () => {
    const issuer = await openJwksServer();
    const { log, connect } = await openDaemon(files({ jwks_uri: issuer.uri }));
    const client = await connect();
    let count = 0;
    const ask = async (signer: IssuerKey): Promise<TestReply | undefined> => {
      const token = await signToken(signer, freshClaims({ jti: String(count) }));
      client.write(encodeRequest(booking(`Bearer ${token}`)));
      count += 1;
      const replies = await client.replies(count);
      for (const part of token.split(".")) expect(JSON.stringify(log)).not.toContain(part);
      return replies[count - 1];
    };
    expect((await ask(key))?.status).toBe(401);
    expect(log).toContainEqual(expect.objectContaining({ level: "warn", event: "issuer-keys" }));
    issuer.publish([key.jwk]);
    await expect.poll(async () => (await ask(key))?.status, PATIENCE).toBe(200);
    const next = await makeIssuerKey("ES256", "next");
    issuer.publish([next.jwk]);
    expect((await ask(next))?.body).toMatchObject({ principal_id: "ada" });
    expect((await ask(key))?.status).toBe(401);
  });
});

describe("a daemon whose token issuer hangs", () => {
  it("serves everybody else meanwhile, and answers who waits when it gives up", async () => {
    const issuer = await openJwksServer();
    const asked = new Promise<void>((resolve) => issuer.respond(() => resolve()));
    const daemon = await openDaemon(files({ jwks_uri: issuer.uri }));
    const ask = async (authorization?: string) => {
      const reply = await askOnce(daemon, booking(authorization));
      return reply?.status;
    };
    await asked;
    const order: unknown[] = [];
    const waiting = ask(`Bearer ${await signToken(key, freshClaims())}`).then((status) => {
      order.push(status);
    });
    for (let count = 0; count < 3; count += 1) order.push(await ask());
    await issuer.close();
    await waiting;
    expect(order).toEqual([200, 200, 200, 401]);
  });
});
