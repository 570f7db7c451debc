/** Contracts as MCP clients get them, call them and lose them.   AGTP-API §10.1 */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { askOnce, serve } from "../../support/daemon.ts";
import { endpointFile } from "../../support/deployment.ts";
import { connectMcp, postMcp, VERSIONS } from "../../support/mcp.ts";
import {
  type NegotiatingMcp,
  openNegotiating,
  type TestUser,
} from "../../support/mcp-contracts.ts";
import { JUDGE, NORA, OTTO, PIA } from "../../support/negotiation.ts";
import { recordIn } from "../../support/records.ts";

const { semantic: _unused, ...PROPOSAL } = JUDGE;
const AUDIT = { name: "audit_reviews", arguments: { subject: "barn" } };
const PROPOSE = { name: "agtp_propose", arguments: PROPOSAL };
const JUDGED = { name: "evaluate_verdicts", arguments: { subject: "barn" } };
const ELICITS = { elicitation: {} };

function userWho(answer: TestUser["answer"]): TestUser {
  return { asked: [], answer };
}

async function namesOf(client: {
  listTools(): Promise<{ tools: readonly { name: string }[] }>;
}): Promise<readonly string[]> {
  return (await client.listTools()).tools.map(({ name }) => name);
}

describe.each(VERSIONS)("a client of %s", (version) => {
  it("is asked for a contract that its call needs, and calls under it once it accepts", async () => {
    const server = await openNegotiating();
    const user = userWho("accept");
    const client = await server.connectUser(version, user);
    expect(await namesOf(client)).not.toContain("audit_reviews");
    const result = await client.callTool({ ...AUDIT, _meta: { "io.agtp/record": true } });
    expect(result.structuredContent).toEqual({
      ...{ facts: ["old", "red"], about: "barn", verdict: "2 facts" },
    });
    expect(user.asked).toEqual([expect.stringContaining("QUERY /facts, then ANALYZE /facts")]);
    expect(recordIn(result._meta)).toMatchObject({
      ...{ method: "AUDIT", path: "/reviews", status: 200, requested_via: "mcp" },
      ...{ negotiation_origin: "rcns-gate", synthesis_id: expect.stringMatching(/^syn-/) },
    });
    expect(await namesOf(client)).toContain("audit_reviews");
    expect((await client.callTool(AUDIT)).isError).toBeUndefined();
    expect(user.asked).toHaveLength(1);
  });

  it.each(["decline", "cancel"] as const)(
    "is refused where its user answers %s",
    async (answer) => {
      const server = await openNegotiating();
      const user = userWho(answer);
      const client = await server.connectUser(version, user);
      const result = await client.callTool({ ...AUDIT, _meta: { "io.agtp/record": true } });
      expect(result.isError).toBe(true);
      expect(JSON.stringify(result.content)).toContain("syn-");
      expect(recordIn(result._meta)).toMatchObject({
        method: "AUDIT",
        path: "/reviews",
        status: 461,
      });
      expect(user.asked).toHaveLength(1);
      expect(await namesOf(client)).not.toContain("audit_reviews");
    },
  );

  it("that cannot ask its user is told how the contract is accepted", async () => {
    const server = await openNegotiating();
    const client = await server.connectUser(version, userWho(undefined));
    const refused = await client.callTool(AUDIT);
    expect(refused.isError).toBe(true);
    const [synthesisId = ""] = /syn-[0-9a-f-]+/.exec(JSON.stringify(refused.content)) ?? [];
    expect(JSON.stringify(refused.content)).toContain("io.agtp/contract-synthesized");
    const _meta = { "io.agtp/contract-synthesized": synthesisId };
    const result = await client.callTool({ ...AUDIT, _meta });
    expect(result.structuredContent).toMatchObject({ verdict: "2 facts" });
  });

  it("proposes an endpoint, which is a tool of its own once it is accepted", async () => {
    const server = await openNegotiating();
    const user = userWho("accept");
    const client = await server.connectUser(version, user);
    expect(await namesOf(client)).toContain("agtp_propose");
    const made = await client.callTool({ ...PROPOSE, _meta: { "io.agtp/record": true } });
    expect(made.isError).toBeUndefined();
    expect(made.structuredContent).toMatchObject({ method: "EVALUATE", path: "/verdicts" });
    expect(JSON.stringify(made.content)).toContain("evaluate_verdicts");
    expect(recordIn(made._meta)).toMatchObject({ method: "PROPOSE", status: 263 });
    expect(user.asked).toEqual([expect.stringContaining("informational")]);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(tools.map(({ name }) => name).toSorted());
    expect(tools.find(({ name }) => name === "evaluate_verdicts")).toMatchObject({
      inputSchema: JUDGE["input_schema"],
      annotations: { readOnlyHint: true, destructiveHint: false },
    });
    const judged = await client.callTool(JUDGED);
    expect(judged.structuredContent).toMatchObject({ verdict: "2 facts" });
    const wrong = await client.callTool({ ...JUDGED, arguments: { subject: 7 } });
    expect(JSON.stringify(wrong.content)).toContain("schema-validation-failed");
  });

  it.each([
    ["calls under", AUDIT],
    ["makes", PROPOSE],
  ])("%s a contract once under an idempotency key", async (_, call) => {
    const server = await openNegotiating();
    const user = userWho("accept");
    const client = await server.connectUser(version, user);
    const _meta = { "io.agtp/idempotency-key": "key-1" };
    const [first, second] = [
      await client.callTool({ ...call, _meta }),
      await client.callTool({ ...call, _meta }),
    ];
    expect(first.isError).toBeUndefined();
    expect(second.structuredContent).toEqual(first.structuredContent);
  });

  it("makes nothing of a proposal that its user declines", async () => {
    const server = await openNegotiating();
    const client = await server.connectUser(version, userWho("decline"));
    const declined = await client.callTool(PROPOSE);
    expect(declined.isError).toBe(true);
    expect(await namesOf(client)).not.toContain("evaluate_verdicts");
    await expect(client.callTool(JUDGED)).rejects.toMatchObject({ code: -32_602 });
  });

  it("accepts a proposal by its id where it cannot ask its user", async () => {
    const server = await openNegotiating();
    const client = await server.connectUser(version, userWho(undefined));
    const offered = await client.callTool(PROPOSE);
    expect(offered.isError).toBe(true);
    const [synthesisId = ""] = /syn-[0-9a-f-]+/.exec(JSON.stringify(offered.content)) ?? [];
    const _meta = { "io.agtp/contract-synthesized": synthesisId };
    expect((await client.callTool({ ...PROPOSE, _meta })).isError).toBeUndefined();
    expect(await namesOf(client)).toContain("evaluate_verdicts");
  });

  it.each([
    ["463", { ...PROPOSAL, path: "/x", output_schema: nothingGives() }, "composition-impossible"],
    ["463", { ...PROPOSAL, method: "QUERY", path: "/facts" }, "policy-refused"],
    ["459", { ...PROPOSAL, method: "FROBNICATE" }, "method-not-in-catalog"],
    ["460", { ...PROPOSAL, path: "/book/x" }, "path-grammar-violation"],
    ["400", { ...PROPOSAL, input_schema: { type: 7 } }, "malformed-schema"],
    ["400", { method: "EVALUATE", path: "/verdicts" }, "invalid-proposal"],
  ])("is told of a proposal that is refused with %s", async (_status, proposal, code) => {
    const server = await openNegotiating();
    const client = await server.connectUser(version, userWho("accept"));
    const refused = await client.callTool({ name: "agtp_propose", arguments: { ...proposal } });
    expect(refused.isError).toBe(true);
    expect(JSON.stringify(refused.content)).toContain(code);
  });

  it("knows nothing of another's contract", async () => {
    const server = await openNegotiating();
    const nora = await server.connectUser(version, userWho("accept"));
    await nora.callTool(PROPOSE);
    const otto = await server.connectUser(version, userWho("accept"), { agentId: OTTO });
    expect(await namesOf(otto)).not.toContain("evaluate_verdicts");
    const none = otto.callTool({ name: "evaluate_nothing", arguments: {} });
    const { message } = (await none.catch((error: unknown) => error)) as Error;
    await expect(otto.callTool(JUDGED)).rejects.toMatchObject({
      code: -32_602,
      message: message.replace("evaluate_nothing", "evaluate_verdicts"),
    });
  });

  it("shows a contract only to a token whose scopes reach it", async () => {
    const server = await openNegotiating();
    const nora = await server.connectUser(version, userWho("accept"));
    const place = {
      ...{ method: "ORDER", path: "/things", description: "Orders a thing." },
      input_schema: {
        type: "object",
        properties: { item: { type: "string" } },
        required: ["item"],
      },
      output_schema: { type: "object", properties: { placed: { type: "string" } } },
    };
    await nora.callTool({ name: "agtp_propose", arguments: place });
    expect(await namesOf(nora)).toContain("order_things");
    const narrow = { scopes: "facts:read" };
    const other = await server.connectUser(version, userWho("accept"), narrow);
    expect(await namesOf(other)).not.toContain("order_things");
  });
});

function nothingGives(): object {
  const properties = { weather: { type: "string" } };
  return { type: "object", properties, required: ["weather"] };
}

async function question(server: NegotiatingMcp, call: object = AUDIT): Promise<string> {
  const answer = await server.post("tools/call", { ...call }, { capabilities: ELICITS });
  expect(answer["result"]).toMatchObject({
    resultType: "input_required",
    inputRequests: { contract: { method: "elicitation/create" } },
  });
  return String(answer["result"]?.["requestState"]);
}

function accepting(requestState: unknown): object {
  return { requestState, inputResponses: { contract: { action: "accept", content: {} } } };
}

describe("a requestState", () => {
  it.each<[string, (state: string) => object, string?]>([
    ["is made up", () => ({ ...AUDIT, ...accepting("eyJhIjoxfQ.AAAA") })],
    ["is empty", () => ({ ...AUDIT, ...accepting("") })],
    ["is very long", () => ({ ...AUDIT, ...accepting("x".repeat(100_000)) })],
    ["was altered", (state) => ({ ...AUDIT, ...accepting(`x${state.slice(1)}`) })],
    ["was cut", (state) => ({ ...AUDIT, ...accepting(state.slice(0, -4)) })],
    ["is for other arguments", (state) => ({ ...AUDIT, arguments: {}, ...accepting(state) })],
    ["is for another tool", (state) => ({ ...JUDGED, ...accepting(state) })],
    ["is for no endpoint", (state) => ({ ...AUDIT, name: "query_facts", ...accepting(state) })],
    ["is another agent's", (state) => ({ ...AUDIT, ...accepting(state) }), OTTO],
  ])("that %s is -32602, and nothing runs", async (_, call, agentId = NORA) => {
    const server = await openNegotiating();
    const state = await question(server);
    const params = { ...call(state), _meta: {} };
    const answer = await server.post("tools/call", params, { agentId, capabilities: ELICITS });
    expect(answer["error"]).toMatchObject({
      code: -32_602,
      data: { code: "request-state-invalid", "io.agtp/audit-id": expect.any(String) },
    });
    const listed = await server.post("tools/list", {}, { agentId });
    expect(JSON.stringify(listed)).not.toContain("audit_reviews");
  });

  it("holds through a reload, and for the same arguments in another order", async () => {
    const server = await openNegotiating();
    const call = { name: "audit_reviews", arguments: { subject: "barn", b: 1, a: 2 } };
    const first = await server.post("tools/call", call, { capabilities: ELICITS });
    await server.daemon.reload();
    const state = first["result"]?.["requestState"];
    const again = { ...call, arguments: { a: 2, b: 1, subject: "barn" }, ...accepting(state) };
    const answer = await server.post("tools/call", again, { capabilities: ELICITS });
    expect(answer["result"]).toMatchObject({ structuredContent: { verdict: "2 facts" } });
  });

  it.each([
    ["a call", AUDIT],
    ["a proposal", PROPOSE],
  ])("of %s that is accepted by many at once is agreed to once", async (_, call) => {
    const server = await openNegotiating();
    const state = await question(server, call);
    const accept = () => server.post("tools/call", { ...call, ...accepting(state) });
    const answers = await Promise.all(Array.from({ length: 20 }, accept));
    for (const { result } of answers) {
      expect(result).toMatchObject({ resultType: "complete" });
      expect(result).not.toHaveProperty("isError");
    }
    const body = { target: "lifecycle", agent_id: NORA };
    const headers = { "Agent-ID": NORA };
    const reply = await askOnce(server, { method: "INSPECT", path: "/", headers, body });
    expect(reply?.text.match(/rcns_propose_accepted/g)).toHaveLength(1);
  });

  it("that nobody has answered is asked again, and one that was declined is over", async () => {
    const server = await openNegotiating();
    const state = await question(server);
    const again = await question(server, { ...AUDIT, requestState: state });
    const decline = { requestState: again, inputResponses: { contract: { action: "decline" } } };
    const declined = await server.post("tools/call", { ...AUDIT, ...decline });
    expect(declined["result"]).toMatchObject({ isError: true });
    const late = await server.post("tools/call", { ...AUDIT, ...accepting(again) });
    expect(JSON.stringify(late["result"])).toContain("contract-revoked");
  });
});

describe("negotiation", () => {
  it("leaves a name to the operator's own tool", async () => {
    const handler = { type: "registered_function", function: "handlers.facts" };
    const own = { method: "QUERY", path: "/own", tool: "agtp_propose", handler };
    const server = await openNegotiating({}, { "endpoints/own.toml": endpointFile(own) });
    const client = await server.connectUser("2026-07-28", userWho("accept"));
    const names = await namesOf(client);
    expect(names.filter((name) => name === "agtp_propose")).toHaveLength(1);
    const result = await client.callTool({ name: "agtp_propose", arguments: {} });
    expect(result.structuredContent).toMatchObject({ facts: ["old", "red"] });
  });

  it("is none for a caller who may not", async () => {
    const server = await openNegotiating();
    const pia = await server.connectUser("2026-07-28", userWho("accept"), { agentId: PIA });
    await expect(pia.callTool(AUDIT)).rejects.toThrow();
  });

  it("is not there where it is off", async () => {
    const server = await openNegotiating({ policies: { rcns: { enabled: false } } });
    const client = await server.connectUser("2026-07-28", userWho("accept"));
    expect(await namesOf(client)).not.toContain("agtp_propose");
    await expect(client.callTool(PROPOSE)).rejects.toMatchObject({ code: -32_602 });
    await expect(client.callTool(AUDIT)).rejects.toMatchObject({ code: -32_602 });
  });
});

describe.each(VERSIONS)("a daemon that is started again, and a client of %s", (version) => {
  it("still have the contract, and the question that was not answered", async () => {
    const server = await openNegotiating();
    const first = await server.connectUser(version, userWho("accept"));
    await first.callTool(PROPOSE);
    const state = await question(server);
    await server.close();
    const configPath = join(server.directory, "agtp-server.toml");
    const again = await serve({ configPath, directory: server.directory });
    const url = new URL(`http://127.0.0.1:${again.daemon.gatewayPort}/mcp`);
    const token = await server.tokenOf(NORA, { aud: url.href });
    const client = await connectMcp(url, version, { token });
    expect(await namesOf(client)).toContain("evaluate_verdicts");
    expect((await client.callTool(JUDGED)).structuredContent).toMatchObject({ verdict: "2 facts" });
    const answered = { ...AUDIT, ...accepting(state) };
    const fetchAgain: typeof server.fetch = (path, init) => fetch(new URL(path, url), init);
    const setup = { token, capabilities: ELICITS };
    const response = await postMcp({ fetch: fetchAgain }, "tools/call", answered, setup);
    const { result } = (await response.json()) as { result: object };
    expect(result).toMatchObject({ structuredContent: { verdict: "2 facts" } });
  });
});
