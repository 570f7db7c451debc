/** Opens the way to an MCP server: Streamable HTTP, or a child process that speaks on its pipes. */
import { StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createBoundedFetch } from "./bounded-fetch.ts";
import { isReply, keepCallStreams } from "./call-streams.ts";
import { ResultReader } from "./exact-results.ts";
import type { McpCommandPlace, McpHttpPlace, McpServerSettings } from "./read-settings.ts";

/** A way that can be connected over once. */
export interface OpenedTransport {
  readonly transport: Transport;
  /** The end of what the child wrote to its standard error, for operators. */
  lastWords(): string;
  /** Ends what the transport leaves open. */
  close(): Promise<void>;
}

const LAST_WORDS = 2_048;
/** A server says when it wants to be asked again for a stream that it ended; these are the bounds. */
const RECONNECT_MS = { least: 1_000, most: 60_000 };
/** So many of our replies may wait for a server to take them: more than one for each call that is under way. */
const MAX_REPLIES = 512;
const MAX_MESSAGES_A_SECOND = 1_024;

/** Starts nothing before it is connected over. */
export function openTransport({ place, maxResponseBytes }: McpServerSettings): OpenedTransport {
  return boundReplies(
    place.kind === "http" ? overHttp(place, maxResponseBytes) : overPipes(place, maxResponseBytes),
  );
}

function overHttp(place: McpHttpPlace, maxResponseBytes: number): OpenedTransport {
  const { fetch, close } = createBoundedFetch(place, maxResponseBytes);
  const { token } = place;
  const transport = new StreamableHTTPClientTransport(new URL(place.url), {
    fetch,
    ...(token === undefined ? {} : { authProvider: { token: async () => token } }),
    onInsufficientScope: "throw",
    reconnectionScheduler: (reconnect, delay) => {
      const { least, most } = RECONNECT_MS;
      const timer = setTimeout(reconnect, Math.min(Math.max(delay, least), most)).unref();
      return () => clearTimeout(timer);
    },
  });
  keepCallStreams(transport);
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
  // The library offers no other way to what a child has written, octet for octet.
  Object.assign(transport, { _readBuffer: new ResultReader(maxResponseBytes) });
  let words = "";
  // Output that nobody reads would fill the pipe, and the child would stand still.
  transport.stderr?.on("data", (chunk: Buffer) => {
    words = (words + chunk.toString("utf8")).slice(-LAST_WORDS);
  });
  endFlood(transport, () => {
    words = `because it sends more than ${MAX_MESSAGES_A_SECOND} messages a second ${words}`;
  });
  return { transport, lastWords: () => words, close: () => Promise.resolve() };
}

/** Ends a child that says more, unasked, than the loop can bear: its pipe cannot be read more slowly. */
function endFlood(transport: StdioClientTransport, onEnd: () => void): void {
  let since = 0;
  let count = 0;
  // The library keeps it, and calls it before its own.
  transport.onmessage = (message) => {
    if (isReply(message)) return;
    const now = performance.now();
    if (now - since > 1_000) [since, count] = [now, 0];
    count += 1;
    const { pid } = transport;
    if (count !== MAX_MESSAGES_A_SECOND || pid === null) return;
    onEnd();
    process.kill(pid, "SIGKILL");
  };
}

/** Closes the way to a server that goes on asking and takes no replies: they would fill the memory. */
function boundReplies(opened: OpenedTransport): OpenedTransport {
  const { transport } = opened;
  const send = transport.send.bind(transport);
  let waiting = 0;
  let fault = "";
  transport.send = async (message, options) => {
    if (!isReply(message)) return send(message, options);
    if (fault !== "") throw new Error(fault);
    if (waiting >= MAX_REPLIES) {
      fault = "because it takes no replies to what it asks";
      return transport.close();
    }
    waiting += 1;
    try {
      await send(message, options);
    } finally {
      waiting -= 1;
    }
  };
  return { ...opened, lastWords: () => `${fault} ${opened.lastWords()}`.trim() };
}
