/** Calls that their client gives up: the handler learns of it.   MCP "Cancellation" */
import { describe, expect, it } from "vitest";
import { endpointFile } from "../../support/deployment.ts";
import { mcpFiles, openMcp, type TestMcp, VERSIONS } from "../../support/mcp.ts";
import { beginSession, inSession, message, messageOf, post } from "../../support/mcp-session.ts";
import { heard, serverFiles } from "../../support/server-deployment.ts";

const PATIENT = `
let begin, end;
const begun = new Promise((resolve) => { begin = resolve; });
const ended = new Promise((resolve) => { end = resolve; });
export const patient = ({ signal }) => new Promise((resolve) => {
  begin();
  const stop = () => { end("stopped"); resolve({ body: "stopped" }); };
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop);
});
export const begins = async () => { await begun; return { body: {} }; };
export const ends = async () => ({ body: { how: await ended } });
`;

function openPatient(): Promise<TestMcp> {
  const names = { patient: "CREATE", begins: "FETCH", ends: "FETCH" };
  const files = Object.entries(names).map(([name, method]) => [
    `endpoints/${name}.toml`,
    endpointFile({
      ...{ method, path: `/${name}`, output_schema: {} },
      handler: { type: "registered_function", function: `patience.${name}` },
    }),
  ]);
  return openMcp(mcpFiles({}, { "patience.mjs": PATIENT, ...Object.fromEntries(files) }));
}

const SERVING = { gateway: { enabled: true, port: 0 }, mcp: { enabled: true, anonymous: true } };
const CALL = { name: "create_patient", arguments: {} };

describe.each(VERSIONS)("a call of %s", (version) => {
  it("that is cancelled ends the handler's work", async () => {
    const server = await openPatient();
    const client = await server.connectClient(version);
    const controller = new AbortController();
    const calling = client.callTool(CALL, { signal: controller.signal });
    await client.callTool({ name: "fetch_begins", arguments: {} });
    controller.abort();
    await expect(calling).rejects.toThrow();
    const { structuredContent } = await client.callTool({ name: "fetch_ends", arguments: {} });
    expect(structuredContent).toEqual({ how: "stopped" });
  });
});

describe("a call of 2025-11-25", () => {
  it("whose connection is lost goes on until it is cancelled", async () => {
    const server = await openPatient();
    const client = await server.connectClient("2025-11-25");
    const id = await beginSession(server);
    const leaving = new AbortController();
    const call = message("tools/call", CALL, 7);
    const losing = post(server, call, inSession(id), leaving.signal).catch(() => undefined);
    await client.callTool({ name: "fetch_begins", arguments: {} });
    leaving.abort();
    await losing;
    let isEnded = false;
    const ending = client.callTool({ name: "fetch_ends", arguments: {} }).then(() => {
      isEnded = true;
    });
    await client.listTools();
    expect(isEnded).toBe(false);
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled" };
    const response = await post(server, { ...cancelled, params: { requestId: 7 } }, inSession(id));
    expect(response.status).toBe(202);
    await ending;
  });

  it("has its id for itself while it is under way", async () => {
    const server = await openPatient();
    const client = await server.connectClient("2025-11-25");
    const id = await beginSession(server);
    const call = message("tools/call", CALL, 7);
    const streamed = message("tools/call", { ...CALL, _meta: { progressToken: 1 } }, 7);
    for (const first of [call, streamed]) {
      const calling = post(server, first, inSession(id));
      await client.callTool({ name: "fetch_begins", arguments: {} });
      const others = Array.from({ length: 24 }, () => post(server, call, inSession(id)));
      for (const refused of await Promise.all(others)) {
        expect(refused.status).toBe(400);
        expect(await messageOf(refused)).toMatchObject({ id: null, error: { code: -32_600 } });
      }
      const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled" };
      await post(server, { ...cancelled, params: { requestId: 7 } }, inSession(id));
      await (await calling).text();
    }
    const again = await post(server, message("tools/list", {}, 7), inSession(id));
    expect(await messageOf(again)).toHaveProperty("result");
  });

  it("is answered no more once it is cancelled, whatever its handler does", async () => {
    const server = await openMcp(serverFiles(SERVING));
    const id = await beginSession(server);
    const started = heard("started", "8");
    const given = { id: "8", obeys: false };
    const call = message("tools/call", { name: "execute_gates", arguments: given }, "c");
    const calling = post(server, call, inSession(id));
    await started;
    const cancel = { jsonrpc: "2.0", method: "notifications/cancelled" };
    await post(server, { ...cancel, params: { requestId: "c" } }, inSession(id));
    expect(await (await calling).text()).toBe("");
  });

  it("ends with its session", async () => {
    const server = await openMcp(serverFiles(SERVING));
    const id = await beginSession(server);
    const [started, aborted] = [heard("started", "9"), heard("aborted", "9")];
    const given = { id: "9", obeys: true };
    const call = message("tools/call", { name: "execute_gates", arguments: given });
    const calling = post(server, call, inSession(id));
    await started;
    await server.fetch("/mcp", { method: "DELETE", headers: inSession(id) });
    expect(await aborted).toBe("the caller cancelled the request");
    await (await calling).text();
  });

  it("is not cancelled by another session", async () => {
    const server = await openPatient();
    const client = await server.connectClient("2025-11-25");
    const [own, other] = [await beginSession(server), await beginSession(server)];
    const calling = post(server, message("tools/call", CALL, 7), inSession(own));
    await client.callTool({ name: "fetch_begins", arguments: {} });
    const cancel = {
      ...{ jsonrpc: "2.0", method: "notifications/cancelled" },
      params: { requestId: 7 },
    };
    let isEnded = false;
    const ending = client.callTool({ name: "fetch_ends", arguments: {} }).then(() => {
      isEnded = true;
    });
    expect((await post(server, cancel, inSession(other))).status).toBe(202);
    await client.listTools();
    expect(isEnded).toBe(false);
    await post(server, cancel, inSession(own));
    await ending;
    await (await calling).body?.cancel();
  });
});
