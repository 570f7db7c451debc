/** `agtp-mcp URI` as a desktop client starts it: a child process that it speaks to over pipes. */
import { resolve } from "node:path";
import { Client, type ClientOptions } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { onTestFinished } from "vitest";
import { makeDirectory } from "./directory.ts";
import type { McpVersion } from "./mcp.ts";

const PROGRAM = resolve(import.meta.dirname, "../../dist/tools/agtp-mcp.js");

/** A client, and what the program has told a person so far. */
export interface Desktop {
  readonly client: Client;
  readonly pid: number;
  told(): string;
}

/** Starts the program in an empty directory, and connects. */
export async function startDesktop(
  version: McpVersion,
  args: readonly string[],
  options: ClientOptions = {},
): Promise<Desktop> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [PROGRAM, ...args],
    cwd: makeDirectory(),
    stderr: "pipe",
  });
  let told = "";
  transport.stderr?.on("data", (chunk: Buffer) => {
    told += chunk.toString("utf8");
  });
  const mode = version === "2025-11-25" ? "legacy" : { pin: version };
  const client = new Client(
    { name: "a-test", version: "1.0.0" },
    { ...options, versionNegotiation: { mode } },
  );
  onTestFinished(() => client.close());
  await client.connect(transport);
  return { client, pid: transport.pid ?? 0, told: () => told };
}
