/** Numbers of an upstream that no double keeps, on their way through handlers and compositions.   RFC 8259 §6 */
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
`;

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

describe("a large integer of an upstream", () => {
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
      "upstream.pem": upstream.ca,
      "handlers.mjs": HANDLERS,
      "endpoints/orders.toml": fronted("/orders"),
      "endpoints/notes.toml": fronted("/notes"),
      "endpoints/redacted.toml": endpointFile({
        ...{ method: "REVIEW", path: "/redacted" },
        handler: { type: "registered_function", function: "handlers.redacted" },
      }),
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

  async function review(path: string): Promise<string> {
    client.write(
      encodeRequest({ method: "REVIEW", path, headers: { "Agent-ID": ALICE }, body: {} }),
    );
    asked += 1;
    const reply = (await client.replies(asked))[asked - 1];
    expect(reply?.status).toBe(200);
    return reply?.text ?? "";
  }

  it("keeps nothing of what a handler takes out of the answer, or puts into it", async () => {
    expect(JSON.parse(await review("/redacted"))).toEqual({
      id: "9007199254740992",
      list: [18446744073709552000],
    });
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
});
