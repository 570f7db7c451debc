/** A tool's answer has numbers as they were written, in its text and in its value.   RFC 8259 §6 */
import { expect, it } from "vitest";
import { mcpFiles, openMcp } from "../../support/mcp.ts";
import {
  beginSession,
  current,
  currentFields,
  inSession,
  message,
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
