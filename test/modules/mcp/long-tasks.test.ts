/** Tasks of MCP clients whose results are long. */
import { expect, it } from "vitest";
import { endpointFile } from "../../support/deployment.ts";
import { mcpFiles, openMcp, postMcp } from "../../support/mcp.ts";

const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const SCROLLS = `let begun = 0;
export const begin = () => {
  begun += 1;
  return { status: 202, body: { poll: { method: "QUERY", path: "/scrolls/" + begun } } };
};
export const read = () => ({ body: { text: "x".repeat(1_500_000) } });
`;

it("that end one after the other keep no more of their results than one client may have", async () => {
  const handler = (name: string): object => ({
    handler: { type: "registered_function", function: `scrolls.${name}` },
  });
  const id = { properties: { id: { type: "string" } } };
  const server = await openMcp(
    mcpFiles(
      {},
      {
        "scrolls.mjs": SCROLLS,
        "endpoints/begin.toml": endpointFile({
          ...{ method: "CREATE", path: "/scrolls", tool: "begin", ...handler("begin") },
        }),
        "endpoints/read.toml": endpointFile({
          ...{ method: "QUERY", path: "/scrolls/{id}", ...id, ...handler("read") },
        }),
      },
    ),
  );
  const send = async (method: string, params: Record<string, unknown>) => {
    const response = await postMcp(server, method, params, { capabilities: TASKS });
    const text = await response.text();
    return { text, ...(JSON.parse(text) as { readonly result?: Record<string, unknown> }) };
  };
  const tasks: unknown[] = [];
  for (let count = 0; count < 4; count += 1) {
    const { result } = await send("tools/call", { name: "begin", arguments: {} });
    tasks.push(result?.["taskId"]);
  }
  for (const taskId of tasks) {
    const { result } = await send("tasks/get", { taskId });
    expect(result).toMatchObject({ status: "completed" });
  }
  let kept = 0;
  for (const taskId of tasks) {
    const { text, result } = await send("tasks/get", { taskId });
    if (result !== undefined) kept += text.length;
  }
  expect(kept).toBeGreaterThan(0);
  expect(kept).toBeLessThanOrEqual(8_388_608);
});
