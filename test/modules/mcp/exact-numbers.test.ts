/** A tool's answer has numbers as they were written, in its text and in its value.   RFC 8259 §6 */
import { expect, it } from "vitest";
import { mcpFiles, openMcp } from "../../support/mcp.ts";
import {
  beginSession,
  current,
  currentFields,
  inSession,
  message,
  messageOf,
  post,
} from "../../support/mcp-session.ts";
import { HANDLER_PROCESS, processEndpoints } from "../../support/processes.ts";

const EXACT = '"structuredContent":{"id":9007199254740993,"far":1e400}';

it("has the integers of a tool to the digit in its value too, in both protocols", async () => {
  const command = [process.execPath, HANDLER_PROCESS];
  const tables = { processes: [{ name: "rooms", command }] };
  const server = await openMcp(mcpFiles(tables, processEndpoints("long")));
  const params = { name: "query_longs", arguments: {} };
  const fields = currentFields("tools/call", "query_longs");
  const now = await (await post(server, current("tools/call", params), fields)).text();
  expect(now).toContain(EXACT);
  expect(now).toContain(String.raw`{\"id\":9007199254740993,\"far\":1e400}`);
  const id = await beginSession(server);
  const before = await post(server, message("tools/call", params), inSession(id));
  expect(await before.text()).toContain(EXACT);
});

it("refuses a call whose tool would be given another number, as AGTP does, with a record", async () => {
  const server = await openMcp();
  const text = (method: object): string =>
    JSON.stringify(method).replaceAll('"LONG"', "9007199254740993");
  const call = { name: "create_orders", arguments: { quantity: "LONG" } };
  const fields = currentFields("tools/call", call.name);
  const id = await beginSession(server);
  for (const response of [
    await post(server, text(current("tools/call", call)), fields),
    await post(server, text(message("tools/call", call)), inSession(id)),
  ]) {
    const { result } = await messageOf(response);
    expect(result).toMatchObject({
      isError: true,
      _meta: { "io.agtp/audit-id": expect.any(String) },
    });
    expect(JSON.stringify(result?.["content"])).toContain("9007199254740993 cannot be kept");
  }
  const beside = { name: "fetch_fields", arguments: {}, _meta: { "x/at": "LONG" } };
  const taken = await post(
    server,
    text(current("tools/call", beside)),
    currentFields("tools/call", "fetch_fields"),
  );
  expect((await messageOf(taken)).result).not.toHaveProperty("isError", true);
});

it("has them in a stream of events, with the progress that its client wants to hear of", async () => {
  const command = [process.execPath, HANDLER_PROCESS];
  const tables = { processes: [{ name: "rooms", command }] };
  const server = await openMcp(mcpFiles(tables, processEndpoints("long")));
  const params = { name: "query_longs", arguments: {}, _meta: { progressToken: 1 } };
  const fields = currentFields("tools/call", "query_longs");
  const now = await post(server, current("tools/call", params), fields);
  expect(await now.text()).toContain(EXACT);
  const id = await beginSession(server);
  const before = await post(server, message("tools/call", params), inSession(id));
  expect(before.headers.get("content-type")).toMatch("text/event-stream");
  expect(await before.text()).toContain(EXACT);
});
