/** Tools that their server runs as tasks.   MCP 2025-11-25 "Tasks" */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { mcpProgram } from "../../../src/programs/mcp/command.ts";
import { makeDirectory } from "../../support/directory.ts";
import { runIn } from "../../support/terminal.ts";

const TOOLS = ["required", "optional", "forbidden"].map((taskSupport) => ({
  ...{ name: taskSupport, description: "Works.", inputSchema: { type: "object" } },
  execution: { taskSupport },
}));

const SERVER = `
  const results = {
    initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "a", version: "1" } },
    "tools/list": { tools: ${JSON.stringify(TOOLS)} },
  };
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method } = JSON.parse(line);
    const result = results[method];
    const answer = result ? { result } : { error: { code: -32601, message: "no such method" } };
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
  });`;

describe("a tool that runs as a task alone", () => {
  it("is left out of an import, and the others are not", async () => {
    const directory = makeDirectory();
    const args = ["import", "-o", "made", "--name", "tasks", "--", process.execPath, "-e", SERVER];
    const { exitCode, err } = await runIn(directory, mcpProgram, args);
    expect(exitCode).toBe(0);
    expect(err).toMatch(/^left out: required: .*taskSupport: required/m);
    const files = readdirSync(join(directory, "made")).toSorted();
    expect(files).toEqual(["forbidden.toml", "optional.toml"]);
  });
});
