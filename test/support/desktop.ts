/** `agtp-mcp URI` as a desktop client starts it, over pipes; and the same within the test's process. */
import { resolve } from "node:path";
import { PassThrough } from "node:stream";
import { Client, type ClientOptions } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { onTestFinished } from "vitest";
import { mcpProgram } from "../../src/programs/mcp/command.ts";
import { runProgram } from "../../src/programs/shell/run-program.ts";
import { makeDirectory } from "./directory.ts";
import type { McpVersion } from "./mcp.ts";
import { keepingTerminal } from "./terminal.ts";

const PROGRAM = resolve(import.meta.dirname, "../../dist/tools/agtp-mcp.js");

/** A client, and what the program has told a person so far. */
export interface Desktop {
  readonly client: Client;
  told(): string;
}

/** A client of the program that runs here. */
interface NearDesktop {
  readonly client: Client;
  /** Ends the program's input, and answers its exit code. */
  end(): Promise<number>;
  /** Everything that the program has written since the client was connected. */
  written(): string;
}

/** Runs the program in this process. */
export async function openDesktop(
  version: McpVersion,
  args: readonly string[],
  options: ClientOptions = {},
): Promise<NearDesktop> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const terminal = { ...keepingTerminal("."), streams: { input, output } };
  const exit = runProgram(mcpProgram, args, terminal);
  const client = clientOf(version, options);
  // A transport of standard input and output is the same from both ends.
  await client.connect(new StdioServerTransport(output, input));
  let written = "";
  output.on("data", (chunk: Buffer) => {
    written += chunk.toString("utf8");
  });
  const end = (): Promise<number> => {
    input.end();
    return exit;
  };
  onTestFinished(async () => {
    await end();
    await client.close();
  });
  return { client, end, written: () => written };
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
  const client = clientOf(version, options);
  onTestFinished(() => client.close());
  await client.connect(transport);
  return { client, told: () => told };
}

function clientOf(version: McpVersion, options: ClientOptions): Client {
  const mode = version === "2025-11-25" ? "legacy" : { pin: version };
  const info = { name: "a-test", version: "1.0.0" };
  return new Client(info, { ...options, versionNegotiation: { mode } });
}
