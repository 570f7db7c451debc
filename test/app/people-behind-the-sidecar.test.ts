/** The sidecar's one agent speaks for many people, whom their tokens tell apart. */
import { describe, expect, it } from "vitest";
import { hostedFiles, openAcp } from "../support/agntcy.ts";
import type { DeploymentFiles } from "../support/deployment.ts";
import { gatewayFiles, openGateway, type Tables } from "../support/gateway.ts";
import { makeIssuerKey, signToken } from "../support/token-issuer.ts";

type Answer = Readonly<Record<string, unknown>>;

/** A request of one person, and what it was answered. */
type Ask = (
  method: string,
  path: string,
  body: object,
  fields?: Readonly<Record<string, string>>,
) => Promise<[status: number, body: Answer]>;

const ISSUER = "https://id.example";
/** Tokens tell people apart, and cancelled orders wait for an operator. */
const POLICIES = {
  oauth: { issuer: ISSUER, jwks_file: "jwks.json" },
  approvals: [{ method: "CANCEL", approval: "operator" }],
  identity: { operator_certificates: ["a".repeat(64)] },
};

/** A sidecar with as many people as have names; who has the empty one comes without a token. */
async function openFor(
  names: readonly string[],
  files: (tables: Tables, keys: DeploymentFiles) => DeploymentFiles = gatewayFiles,
): Promise<readonly Ask[]> {
  const key = await makeIssuerKey();
  const keys = { "jwks.json": JSON.stringify({ keys: [key.jwk] }) };
  const { fetch } = await openGateway(files({ policies: POLICIES }, keys));
  const exp = Math.floor(Date.now() / 1000) + 60;
  return Promise.all(
    names.map(async (sub) => {
      const token = sub === "" ? undefined : await signToken(key, { iss: ISSUER, sub, exp });
      const headers = {
        "content-type": "application/json",
        ...(token && { authorization: `Bearer ${token}` }),
      };
      const ask: Ask = async (method, path, body, fields) => {
        const sent = { method, headers: { ...headers, ...fields }, body: JSON.stringify(body) };
        const response = await fetch(path, sent);
        return [response.status, (await response.json()) as Answer];
      };
      return ask;
    }),
  );
}

/** The escalations that one person is told of, in either way. */
async function escalationsOf(ask: Ask): Promise<readonly unknown[]> {
  const [, listed] = await ask("POST", "/escalations/query", {});
  const [, found] = await ask("POST", "/query", { intent: "*", scope: ["escalations"] });
  const { escalations } = listed["result"] as { escalations: readonly unknown[] };
  const { results } = found["result"] as { results: readonly unknown[] };
  expect(results).toHaveLength(escalations.length);
  return escalations;
}

// docs/escalations.md
describe("the people behind the sidecar", () => {
  it("are not told of each other's calls that wait for an operator", async () => {
    const [ada, bob, nobody] = (await openFor(["ada", "bob", ""])) as [Ask, Ask, Ask];
    const [status, waits] = await ada("POST", "/orders/7/cancel", { quantity: 3 });
    expect([status, waits["type"]]).toEqual([403, "approval-required"]);
    expect(await escalationsOf(ada)).toMatchObject([
      { context: { call: { principal: "ada", input: { quantity: 3 } } } },
    ]);
    for (const other of [bob, nobody]) {
      expect(await escalationsOf(other)).toEqual([]);
      const path = `/escalations/${waits["escalation_id"]}/query`;
      expect((await other("POST", path, {}))[0]).toBe(404);
      expect((await ada("POST", path, {}))[0]).toBe(200);
    }
    await nobody("POST", "/orders/8/cancel", {});
    const anybodys = { context: { call: { path: "/orders/8" } } };
    expect(await escalationsOf(nobody)).toMatchObject([anybodys]);
    expect(await escalationsOf(ada)).toMatchObject([anybodys, {}]);
  });

  it("are not told of what another of them has escalated", async () => {
    const [ada, bob, nobody] = (await openFor(["ada", "bob", ""])) as [Ask, Ask, Ask];
    const asked = { task_id: "task-1", reason: "ethical_flag", context: "May I?" };
    expect((await ada("POST", "/escalate", asked))[0]).toBe(202);
    expect(await escalationsOf(bob)).toEqual([]);
    expect(await escalationsOf(ada)).toMatchObject([{ context: "May I?" }]);
    const unnamed = { task_id: "task-2", reason: "ethical_flag", context: "May we?" };
    expect((await nobody("POST", "/escalate", unnamed))[0]).toBe(202);
    expect(await escalationsOf(bob)).toMatchObject([{ context: "May we?" }]);
  });

  it("are not told of what another of them has executed", async () => {
    const [ada, bob] = (await openFor(["ada", "bob"])) as [Ask, Ask];
    const action = { method: "AUDIT", path: "/orders" };
    const [status] = await ada("POST", "/execute", { action, input: {} });
    expect(status).toBe(200);
    const runs = async (ask: Ask): Promise<unknown> => {
      const [, found] = await ask("POST", "/query", { intent: "*", scope: ["runs"] });
      return (found["result"] as Answer)["result_count"];
    };
    expect(await runs(ada)).toBe(1);
    expect(await runs(bob)).toBe(0);
  });

  it("do not have each other's runs of an agent, nor the questions of these", async () => {
    const question = { mail_send_approval: { subject: "Hello", body: "World" } };
    const server = await openAcp({ script: () => ({ interrupt: question }) });
    const [ada, bob] = (await openFor(["ada", "bob"], (tabled, files) => {
      const tables = { ...tabled, gateway: { enabled: true, port: 0, agent: "maya" } };
      return hostedFiles(server, { tables, files });
    })) as [Ask, Ask];
    const asked = { input: { message: "hi" }, wait_seconds: 10 };
    const [status, run] = await ada("POST", "/mailcomposer/execute", asked);
    expect([status, run["status"]]).toEqual([202, "interrupted"]);
    const path = `/mailcomposer/runs/${run["run_id"]}`;
    const answer = { status: "accepted", resume_value: { approved: true } };
    expect((await bob("POST", `${path}/query`, {}))[0]).toBe(404);
    expect((await bob("POST", `${path}/confirm`, answer))[0]).toBe(404);
    expect(await escalationsOf(bob)).toEqual([]);
    expect(await escalationsOf(ada)).toHaveLength(1);
    const found = async (ask: Ask): Promise<unknown> => {
      const [, body] = await ask("POST", "/query", { intent: "*", scope: ["agntcy-runs"] });
      return (body["result"] as Answer)["result_count"];
    };
    expect([await found(bob), await found(ada)]).toEqual([0, 1]);
    expect((await ada("POST", `${path}/query`, {}))[0]).toBe(200);
    expect((await ada("POST", `${path}/confirm`, answer))[0]).toBeLessThan(300);
  });

  // docs/sessions.md
  it("do not use, see, halt or end each other's sessions", async () => {
    const [ada, bob, nobody] = (await openFor(["ada", "bob", ""])) as [Ask, Ask, Ask];
    const inSession = { "session-id": "s-1" };
    expect((await ada("POST", "/orders/audit", {}, inSession))[0]).toBe(200);
    const named = { session_id: "s-1" };
    for (const other of [bob, nobody]) {
      const [status, body] = await other("POST", "/orders/audit", {}, inSession);
      expect([status, body["error"]]).toMatchObject([401, { code: "session-mismatch" }]);
      const inspected = { target: "session", ...named };
      expect((await other("POST", "/inspect", inspected))[0]).toBe(404);
      expect((await other("POST", "/suspend", named))[0]).toBe(404);
      expect((await other("POST", "/revoke", { target: "session", ...named }))[0]).toBe(404);
    }
    const [, halted] = await ada("POST", "/suspend", named);
    const { resumption_nonce } = halted["result"] as Answer;
    expect((await bob("POST", "/resume", { resumption_nonce }))[0]).toBe(404);
    expect((await ada("POST", "/resume", { resumption_nonce }))[0]).toBe(200);
    expect((await ada("POST", "/orders/audit", {}, inSession))[0]).toBe(200);
    expect((await ada("POST", "/revoke", { target: "session", ...named }))[0]).toBe(200);
  });
});
