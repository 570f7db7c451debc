/** Numbers that no double keeps, or no JSON, on their way through handlers and compositions.   RFC 8259 §6 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { UPSTREAM_ERRORS } from "../../src/endpoint/endpoint.ts";
import { createDaemon, type RawClient, type TestDaemon } from "../support/daemon.ts";
import {
  agentFile,
  configFile,
  createDeployment,
  endpointFile,
  type TestDeployment,
} from "../support/deployment.ts";
import { encodeRequest } from "../support/dispatch.ts";
import { type HttpsUpstream, startUpstream } from "../support/https-upstream.ts";

const ALICE = "a".repeat(64);
const ORDER = '{"id":9007199254740993,"secret":"s","list":[18446744073709551615]}';

const HANDLERS = `
const order = async (call) => (await call.dispatch("QUERY", "/orders", {})).body;
export const redacted = async (call) => {
  const body = await order(call);
  delete body.secret;
  body.id = String(body.id);
  return { body };
};
export const passed = async (call) => ({ body: await order(call) });
export const again = async (call) => call.dispatch("REVIEW", "/passed");
export const unpriced = () => ({ body: { rooms: [{ price: 0 / 0 }] } });
`;

function handled(name: string): Record<string, string> {
  return {
    [`endpoints/${name}.toml`]: endpointFile({
      ...{ method: "REVIEW", path: `/${name}` },
      handler: { type: "registered_function", function: `handlers.${name}` },
    }),
  };
}

function composed(name: string, aggregation: string, tail = ""): Record<string, string> {
  const step = (as: string, path: string): string =>
    `[[recipe.steps]]\nmethod = "QUERY"\npath = "${path}"\ncapture_as = "${as}"\n`;
  return {
    [`recipes/${name}.toml`]: `[[recipe]]\nname = "${name}"\nversion = "1"\ndescription = "Two."
[recipe.pattern]\nmethod_exact = "REVIEW"\npath_exact = "/${name}"
${step("note", "/notes")}${step("order", "/orders")}
[recipe.aggregation]\nmode = "${aggregation}"\n${tail}`,
    [`endpoints/${name}.toml`]: endpointFile({
      ...{ method: "REVIEW", path: `/${name}`, errors: ["composition_failed"] },
      handler: { type: "composition", recipe: name },
    }),
  };
}

describe("a number that would not be kept", () => {
  let upstream: HttpsUpstream;
  let deployment: TestDeployment;
  let daemon: TestDaemon;
  let client: RawClient;
  let asked = 0;

  beforeAll(async () => {
    upstream = await startUpstream();
    upstream.respond((response, { url }) =>
      response.end(url === "/orders" ? ORDER : '{"note":"n","id":1}'),
    );
    const fronted = (path: string): string =>
      endpointFile({
        ...{ method: "QUERY", path, errors: [...UPSTREAM_ERRORS] },
        handler: {
          ...{ type: "external_service", url: `${upstream.origin}${path}`, method: "GET" },
          ca: "upstream.pem",
        },
      });
    deployment = createDeployment({
      "agtp-server.toml": configFile({}),
      "agents/alice.agent.json": agentFile({ agent_id: ALICE, name: "alice" }),
      "agents/bob.agent.json": agentFile({ agent_id: "b".repeat(64), name: "bob" }),
      "upstream.pem": upstream.ca,
      "handlers.mjs": HANDLERS,
      "endpoints/orders.toml": fronted("/orders"),
      "endpoints/notes.toml": fronted("/notes"),
      ...handled("redacted"),
      ...handled("passed"),
      ...handled("again"),
      ...handled("unpriced"),
      ...composed("last-one", "last"),
      ...composed("merged", "merge"),
      ...composed("listed", "list"),
    });
    daemon = await createDaemon(deployment);
    client = await daemon.connect();
  });

  afterAll(async () => {
    await daemon.close();
    deployment.remove();
    await upstream.close();
  });

  async function ask(method: string, path: string, body: object, status = 200): Promise<string> {
    client.write(encodeRequest({ method, path, headers: { "Agent-ID": ALICE }, body }));
    asked += 1;
    const reply = (await client.replies(asked))[asked - 1];
    expect(reply?.status).toBe(status);
    return reply?.text ?? "";
  }

  const review = (path: string): Promise<string> => ask("REVIEW", path, {});

  it("keeps nothing of what a handler takes out of the answer, or puts into it", async () => {
    expect(JSON.parse(await review("/redacted"))).toEqual({
      id: "9007199254740992",
      list: [18446744073709552000],
    });
  });

  it.each(["/passed", "/again"])("is in an answer that a handler hands on: %s", async (path) => {
    expect(await review(path)).toBe(ORDER);
  });

  it.each(["/orders", "/passed", "/last-one"])("is in what EXECUTE wraps: %s", async (path) => {
    const method = path === "/orders" ? "QUERY" : "REVIEW";
    const text = await ask("EXECUTE", "/", { action: { method, path } });
    expect(text).toMatch(/^\{"status":200,.*"result":\{.*\}\}$/s);
    expect(text).toContain('"id":9007199254740993');
    expect(text).toContain('"list":[18446744073709551615]');
  });

  it("is in what a delegate was answered", async () => {
    const task = { method: "REVIEW", path: "/passed" };
    const asked = { target_agent_id: "bob", task, authority_scope: [] };
    const text = await ask("DELEGATE", "/", asked);
    expect(text).toContain(`"state":"completed","status":200,"result":${ORDER}`);
  });

  it("is in the result of a tool that EXECUTE carries, in its text too", async () => {
    const payload = { name: "review_passed", arguments: {} };
    const text = await ask("EXECUTE", "/", { action: "mcp.tools.call", payload });
    const { result } = JSON.parse(text);
    expect(result.content).toEqual([{ type: "text", text: ORDER }]);
    expect(text).toContain(`"structuredContent":${ORDER}`);
  });

  it.each([
    ["/last-one", ORDER],
    ["/merged", `{"note":"n",${ORDER.slice(1)}`],
    ["/listed", `{"results":[{"note":"n","id":1},${ORDER}]}`],
  ])("is the answer of a composition to the digit: %s", async (path, body) => {
    const text = await review(path);
    // The order of members says nothing.
    const marked = (json: string): unknown => JSON.parse(json.replace(/\d{16,}/g, '"$&"'));
    expect(marked(text)).toEqual(marked(body));
  });

  it("is a fault where JSON has no word for it, and the log says where", async () => {
    expect(await ask("REVIEW", "/unpriced", {}, 500)).not.toContain("null");
    expect(daemon.log).toContainEqual(
      expect.objectContaining({
        ...{ event: "fault", endpoint: "/unpriced" },
        error: expect.objectContaining({
          message: expect.stringContaining("/rooms/0/price is NaN"),
        }),
      }),
    );
  });
});
