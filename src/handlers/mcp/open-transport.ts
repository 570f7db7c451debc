/** Opens the way to an MCP server: Streamable HTTP, or a child process that speaks on its pipes. */
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createBoundedFetch } from "./bounded-fetch.ts";
import type { McpCommandPlace, McpHttpPlace, McpServerSettings } from "./read-settings.ts";
import { answerWhole } from "./whole-answers.ts";

/** A way that can be connected over once. */
export interface OpenedTransport {
  readonly transport: StreamableHTTPClientTransport | StdioClientTransport;
  /** The end of what the child wrote to its standard error, for operators. */
  lastWords(): string;
  /** Ends what the transport leaves open. */
  close(): Promise<void>;
}

const LAST_WORDS = 2_048;

/** Starts nothing before it is connected over. */
export function openTransport({ place, maxResponseBytes }: McpServerSettings): OpenedTransport {
  return place.kind === "http"
    ? overHttp(place, maxResponseBytes)
    : overPipes(place, maxResponseBytes);
}

function overHttp(place: McpHttpPlace, maxResponseBytes: number): OpenedTransport {
  const { fetch, close } = createBoundedFetch(place, maxResponseBytes);
  const { token } = place;
  const transport = new StreamableHTTPClientTransport(new URL(place.url), {
    fetch,
    ...(token === undefined ? {} : { authProvider: { token: async () => token } }),
    onInsufficientScope: "throw",
  });
  answerWhole(transport);
  return { transport, lastWords: () => "", close };
}

function overPipes(
  { command, args, env, cwd }: McpCommandPlace,
  maxResponseBytes: number,
): OpenedTransport {
  const transport = new StdioClientTransport({
    ...{ command, args: [...args], env: { ...env }, cwd, stderr: "pipe" },
    maxBufferSize: maxResponseBytes,
  });
  let words = "";
  // Output that nobody reads would fill the pipe, and the child would stand still.
  transport.stderr?.on("data", (chunk: Buffer) => {
    words = (words + chunk.toString("utf8")).slice(-LAST_WORDS);
  });
  return { transport, lastWords: () => words, close: () => Promise.resolve() };
}
