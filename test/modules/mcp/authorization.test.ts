/** Whom MCP clients are taken for, and what they may do.   MCP "Authorization", RFC 9728 */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Rates } from "../../../src/dispatch/rates/rates.ts";
import { EscalationRegister } from "../../../src/state/registers/escalation-register.ts";
import { agentFile, type DeploymentFiles, endpointFile } from "../../support/deployment.ts";
import { DESK } from "../../support/gateway.ts";
import { mcpFiles, openMcp, postMcp, type TestMcp, VERSIONS } from "../../support/mcp.ts";
import { makeIssuerKey, signToken } from "../../support/token-issuer.ts";

const ISSUER = "https://id.example";
const CLERK = "c".repeat(64);

interface Guarded extends TestMcp {
  tokenFor(claims: Record<string, unknown>): Promise<string>;
}

async function openGuarded(
  oauth: object = {},
  mcp: object = {},
  approvals: readonly object[] = [],
  files: DeploymentFiles = {},
): Promise<Guarded> {
  const key = await makeIssuerKey();
  const policies = { approvals, oauth: { issuer: ISSUER, jwks_file: "jwks.json", ...oauth } };
  const server = await openMcp(
    mcpFiles(
      { policies, mcp: { enabled: true, ...mcp } },
      {
        "jwks.json": JSON.stringify({ keys: [key.jwk] }),
        "agents/clerk.agent.json": agentFile({
          ...{ agent_id: CLERK, name: "clerk", scopes_accepted: ["orders:archive"] },
        }),
        ...files,
      },
    ),
  );
  const now = Math.floor(Date.now() / 1000);
  const usual = { iss: ISSUER, sub: "ada", exp: now + 60, aud: server.url.href };
  return { ...server, tokenFor: (claims) => signToken(key, { ...usual, ...claims }) };
}

function post(server: TestMcp, token?: string, params = {}, method = "tools/list") {
  return postMcp(server, method, params, token === undefined ? {} : { token });
}

describe("the metadata of the resource", () => {
  it("say who gives tokens for it, and for which scopes", async () => {
    const server = await openGuarded();
    const response = await server.fetch("/.well-known/oauth-protected-resource/mcp");
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      ...{ resource: server.url.href, authorization_servers: [ISSUER] },
      scopes_supported: ["orders:archive", "orders:read"],
    });
    const head = await server.fetch("/.well-known/oauth-protected-resource/mcp", {
      method: "HEAD",
    });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    const fields = ["content-length", "cache-control"].map((name) => head.headers.get(name));
    expect(fields).toEqual([response.headers.get("content-length"), "public, max-age=300"]);
  });
});

describe("an MCP client", () => {
  it("without a token is sent to where it gets one", async () => {
    const server = await openGuarded();
    const response = await post(server);
    expect(response.status).toBe(401);
    const metadata = `${server.url.origin}/.well-known/oauth-protected-resource/mcp`;
    expect(response.headers.get("www-authenticate")).toBe(`Bearer resource_metadata="${metadata}"`);
  });

  it.each([
    ["has expired", { exp: 1 }],
    ["is for another server", { aud: "https://other.example/mcp" }],
    ["is for nobody", { aud: undefined }],
    ["is of another issuer", { iss: "https://evil.example" }],
  ])("whose token %s is refused", async (_, claims) => {
    const server = await openGuarded();
    const response = await post(server, await server.tokenFor(claims));
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toContain('error="invalid_token"');
  });

  it("speaks for the token's principal, and the token goes no further", async () => {
    const server = await openGuarded();
    const client = await server.connectClient("2026-07-28", { token: await server.tokenFor({}) });
    const { structuredContent } = await client.callTool({ name: "fetch_fields", arguments: {} });
    const { headers } = structuredContent as { headers: Record<string, string> };
    expect(headers["agent-id"]).toBe(DESK);
    expect(headers["authorization"]).toBeUndefined();
    const echoed = await client.callTool({ name: "audit_orders", arguments: {} });
    expect(echoed.structuredContent).toMatchObject({ principal_id: "ada", agent_id: DESK });
  });

  it("is the agent that its token names", async () => {
    const server = await openGuarded({ agent_claim: "agent" });
    const token = await server.tokenFor({ agent: CLERK });
    const client = await server.connectClient("2026-07-28", { token });
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toContain("archive_orders");
    expect(names).not.toContain("search_orders");
    const { structuredContent } = await client.callTool({ name: "archive_orders", arguments: {} });
    expect(structuredContent).toMatchObject({ agent_id: CLERK, principal_id: "ada" });
    const stranger = await server.tokenFor({ agent: "e".repeat(64) });
    expect((await post(server, stranger)).status).toBe(401);
  });

  it.each([
    ["a number", 7],
    ["a list", [CLERK]],
    ["nothing", null],
    ["a name", "clerk"],
    ["no text at all", ""],
    ["upper case", CLERK.toUpperCase()],
  ])(
    "is nobody, and not the sidecar's agent, where its token names an agent by %s",
    async (_, agent) => {
      const server = await openGuarded({ agent_claim: "agent" });
      const response = await post(server, await server.tokenFor({ agent }));
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toContain('error="invalid_token"');
    },
  );

  // RFC 8705 §3
  it("shows no certificate, and none speaks by a token that is bound to one", async () => {
    const server = await openGuarded();
    const cnf = { "x5t#S256": Buffer.alloc(32, 1).toString("base64url") };
    const response = await post(server, await server.tokenFor({ cnf }));
    expect(response.status).toBe(401);
    const challenge = response.headers.get("www-authenticate");
    expect(challenge).toContain('error="invalid_token"');
    expect(challenge).toContain("the token is bound to another client certificate");
  });

  it("is told which scope its agent lacks", async () => {
    const server = await openGuarded();
    const call = { name: "archive_orders", arguments: {} };
    const response = await post(server, await server.tokenFor({}), call, "tools/call");
    expect(response.status).toBe(403);
    const field = response.headers.get("www-authenticate");
    expect(field).toContain('error="insufficient_scope"');
    expect(field).toContain('scope="orders:archive"');
  });

  it("holds no more than the scopes of its token", async () => {
    const server = await openGuarded();
    const token = await server.tokenFor({ scope: "openid orders:write" });
    const call = { name: "search_orders", arguments: {} };
    const response = await post(server, token, call, "tools/call");
    expect(response.status).toBe(403);
    expect(response.headers.get("www-authenticate")).toContain('scope="orders:read"');
    const wide = await post(server, await server.tokenFor({ scope: "openid" }), call, "tools/call");
    expect(wide.status).toBe(200);
  });

  // RFC 6750 §3.1; a client of 2025-11-25 asks for a token of what it is told, and of nothing else.
  it("is told every scope that its call takes, where its token has one of them", async () => {
    const move = { method: "REORDER", path: "/orders" };
    const files = {
      "endpoints/move.toml": endpointFile({
        ...{ ...move, required_scopes: ["orders:read", "orders:write"] },
        handler: { type: "registered_function", function: "desk.echo" },
      }),
    };
    const server = await openGuarded({}, {}, [], files);
    const call = { name: "reorder_orders", arguments: {} };
    for (const scope of ["orders:read", "orders:write"]) {
      const response = await post(server, await server.tokenFor({ scope }), call, "tools/call");
      expect(response.status).toBe(403);
      const field = response.headers.get("www-authenticate");
      expect(field).toContain('scope="orders:read orders:write"');
    }
    const token = await server.tokenFor({ scope: "orders:read orders:write" });
    expect((await post(server, token, call, "tools/call")).status).toBe(200);
  });

  it("may be anybody where that is allowed, until it needs a scope", async () => {
    const server = await openGuarded({}, { anonymous: true });
    expect((await post(server)).status).toBe(200);
    const call = { name: "archive_orders", arguments: {} };
    const response = await post(server, undefined, call, "tools/call");
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toContain('scope="orders:archive"');
  });
});

describe("a task of a client with another token", () => {
  const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

  /** Two clients of one principal and one of another, and a word on what waits. */
  async function openWaiting() {
    const open = vi.spyOn(EscalationRegister.prototype, "open");
    onTestFinished(() => open.mockRestore());
    const approvals = ["SEARCH", "AUDIT"].map((method) => ({ method, approval: "operator" }));
    const server = await openGuarded({}, {}, approvals);
    const client = async (scope: string, sub = "ada") => {
      const token = await server.tokenFor({ scope, sub });
      const setup = { token, capabilities: TASKS };
      return {
        get: (taskId: string) => postMcp(server, "tasks/get", { taskId }, setup),
        cancel: (taskId: string) => postMcp(server, "tasks/cancel", { taskId }, setup),
        listen: (taskIds: readonly string[]) =>
          postMcp(server, "subscriptions/listen", { notifications: { taskIds } }, setup),
        begin: async (name: string) => {
          const begun = await postMcp(server, "tools/call", { name, arguments: {} }, setup);
          return ((await begun.json()) as { result: { taskId: string } }).result.taskId;
        },
      };
    };
    const accept = async (): Promise<void> => {
      const register = open.mock.contexts[0] as EscalationRegister;
      const word = { attestationId: "att-1", status: "accepted", authority: "operator" } as const;
      for (const { escalationId, status } of register.list()) {
        if (status === "pending_review") {
          await register.decide(escalationId, { ...word, at: Date.now() });
        }
      }
    };
    const wide = await client("openid orders:read");
    const narrow = await client("openid orders:write");
    const other = await client("openid orders:read", "eve");
    return { wide, narrow, other, accept };
  }

  async function expectRefused(response: Response): Promise<void> {
    expect(response.status).toBe(403);
    expect(response.headers.get("www-authenticate")).toContain('scope="orders:read"');
    expect(await response.text()).not.toContain("structuredContent");
  }

  it("waits for one that reaches its call, and gives what came of it to no lesser one", async () => {
    const { wide, narrow, accept } = await openWaiting();
    const taskId = await wide.begin("search_orders");
    await accept();
    await expectRefused(await narrow.get(taskId));
    for (let times = 0; times < 2; times += 1) {
      const done = (await (await wide.get(taskId)).json()) as { result: object };
      expect(done.result).toMatchObject({ status: "completed", result: { structuredContent: {} } });
      await expectRefused(await narrow.get(taskId));
    }
  });

  it("is none for another principal, who neither sees it, nor ends it, nor hears of it", async () => {
    const { wide, other } = await openWaiting();
    const [taskId, own] = [await wide.begin("audit_orders"), await other.begin("audit_orders")];
    for (const asked of [other.get, other.cancel]) {
      expect(await (await asked(taskId)).json()).toMatchObject({ error: { code: -32_602 } });
    }
    const kept = await (await wide.get(taskId)).json();
    expect(kept).toMatchObject({ result: { status: "working" } });
    const { body } = await other.listen([taskId, own]);
    let told = "";
    for await (const chunk of body ?? []) {
      told += Buffer.from(chunk).toString();
      if (told.includes(own)) break;
    }
    expect(told).not.toContain(taskId);
  });

  it("is not told of to a listener with a lesser one", async () => {
    const { wide, narrow, accept } = await openWaiting();
    const refused = await wide.begin("search_orders");
    const given = await narrow.begin("audit_orders");
    await accept();
    for (const taskId of [refused, given]) expect((await wide.get(taskId)).status).toBe(200);
    const { body } = await narrow.listen([refused, given]);
    let told = "";
    for await (const chunk of body ?? []) {
      told += Buffer.from(chunk).toString();
      if (told.includes("notifications/tasks")) break;
    }
    const [, notified] = told.split("notifications/tasks");
    expect(notified).toContain(given);
    expect(notified).not.toContain(refused);
  });
});

describe.each(VERSIONS)("a refusal by HTTP, over %s", (version) => {
  it("is said before anything is streamed", async () => {
    const server = await openGuarded();
    const client = await server.connectClient(version, { token: await server.tokenFor({}) });
    await expect(client.callTool({ name: "archive_orders", arguments: {} })).rejects.toMatchObject({
      message: expect.stringMatching(/403|scope/i),
    });
  });
});

// `[limits] requests_per_second`
describe("a message of an MCP client", () => {
  it("is counted once, on the account of whom it is from", async () => {
    const admit = vi.spyOn(Rates.prototype, "admit");
    onTestFinished(() => admit.mockRestore());
    const server = await openGuarded({}, { anonymous: true });
    const token = await server.tokenFor({});
    const payersOf = async (own?: string): Promise<readonly string[]> => {
      admit.mockClear();
      expect((await post(server, own, { name: "audit_orders" }, "tools/call")).status).toBe(200);
      return admit.mock.calls.map(([payer]) => payer());
    };
    expect(await payersOf()).toEqual(["127.0.0.1"]);
    // A token that nobody has seen before may be no token at all.
    expect(await payersOf(token)).toEqual(["127.0.0.1"]);
    expect(await payersOf(token)).toEqual(["for ada"]);
  });

  it("is refused in HTTP's own words where there were too many", async () => {
    const server = await openMcp(
      mcpFiles({
        mcp: { enabled: true, anonymous: true },
        limits: { requests_per_second: 1 },
      }),
    );
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(server)));
    const refused = answers.find(({ status }) => status === 429);
    expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
  });
});
