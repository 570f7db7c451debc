/** Opens the transport to an MCP server: Streamable HTTP, or the pipes of a child process. */
import {
  isJSONRPCRequest,
  type RequestId,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import {
  StdioClientTransport,
  type StdioServerParameters,
} from "@modelcontextprotocol/client/stdio";
import { raceAbort } from "../../base/deadline.ts";
import { createBoundedFetch } from "./bounded-fetch.ts";
import { cancelledBy, isReply, keepCallStreams } from "./call-streams.ts";
import { ResultReader } from "./exact-results.ts";
import { refuseHeavy } from "./heavy-messages.ts";
import type { McpCommandPlace, McpHttpPlace, McpServerSettings } from "./read-settings.ts";

/** A transport for a single connection. */
export interface OpenedTransport {
  readonly transport: Transport;
  /** The end of the child's standard error, on one line, for operators. */
  lastWords(): string;
  /** Ends the server's session, within a second. Never rejects.   MCP 2025-11-25 "Session Management" */
  leave(): Promise<void>;
  /** Closes the transport's remaining resources. */
  close(): Promise<void>;
}

const LAST_WORDS = 2_048;
/** How long a server may take to end its session. */
const LEAVE_MS = 1_000;
/** The bounds on the reconnection delay that a server asks for. */
const RECONNECT_MS = { least: 1_000, most: 60_000 };
/** The maximum of unsent replies to a server: more than one for each call in progress. */
const MAX_REPLIES = 512;
const MAX_MESSAGES_A_SECOND = 1_024;
/** The cost, in messages, of a line that is not JSON: programs print such lines. */
const COST_OF_TEXT = 1 / 16;

/** Opens the transport; nothing starts before it is connected. */
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
  refuseHeavy(transport);
  keepCallStreams(transport);
  const leave = async (): Promise<void> => {
    const left = transport.terminateSession().catch(() => undefined);
    await raceAbort(left, AbortSignal.timeout(LEAVE_MS));
  };
  return { transport, lastWords: () => "", leave, close };
}

function overPipes(
  { command, args, env, cwd }: McpCommandPlace,
  maxResponseBytes: number,
): OpenedTransport {
  const transport = new ChildTransport({
    ...{ command, args: [...args], env: { ...env }, cwd, stderr: "pipe" },
    maxBufferSize: maxResponseBytes,
  });
  const lastWords = (): string => transport.words.replace(/\s+/g, " ").trim();
  const none = (): Promise<void> => Promise.resolve();
  return { transport, lastWords, leave: none, close: none };
}

/** The library's own method that ends the child of a version probe. */
const DISPOSE: string = "_dispose";

/** A child process whose unsolicited messages are limited. */
class ChildTransport extends StdioClientTransport {
  /** The end of its standard error, or the reason it was killed. */
  words = "";

  constructor(server: StdioServerParameters) {
    super(server);
    // Unread output would fill the pipe and block the child.
    this.stderr?.on("data", (chunk: Buffer) => {
      this.words = (this.words + chunk.toString("utf8")).slice(-LAST_WORDS);
    });
    const countStray = endingFlood(this, () => {
      this.words = `because it sends more than ${MAX_MESSAGES_A_SECOND} messages a second ${this.words}`;
    });
    const asked = keepAsked(this);
    refuseHeavy(this, (message) => {
      const isAnswer = isReply(message) && asked.delete(message.id ?? "");
      if (!isAnswer) countStray();
    });
    const onLine = (isJson: boolean): void => countStray(isJson ? 1 : COST_OF_TEXT);
    // Why: the library has no other access to a child's raw output.
    Object.assign(this, { _readBuffer: new ResultReader(server.maxBufferSize ?? 0, onLine) });
  }

  /** The library starts a probe's child only through a class with a method of its own. */
  [DISPOSE](): Promise<void> {
    return Reflect.apply(Reflect.get(StdioClientTransport.prototype, DISPOSE), this, []);
  }
}

/** Counts messages that answer no request, and kills a child that sends too many: pipes cannot be read more slowly. */
function endingFlood(transport: StdioClientTransport, onEnd: () => void): (cost?: number) => void {
  let since = 0;
  let count = 0;
  let isEnded = false;
  return (cost = 1) => {
    const now = performance.now();
    if (now - since > 1_000) [since, count] = [now, 0];
    count += cost;
    const { pid } = transport;
    if (isEnded || count < MAX_MESSAGES_A_SECOND || pid === null) return;
    isEnded = true;
    onEnd();
    process.kill(pid, "SIGKILL");
  };
}

/** The ids of the requests that wait for an answer. */
function keepAsked(transport: StdioClientTransport): Set<RequestId> {
  const asked = new Set<RequestId>();
  const send = transport.send.bind(transport);
  transport.send = (message) => {
    if (isJSONRPCRequest(message)) asked.add(message.id);
    const cancelled = cancelledBy(message);
    if (cancelled !== undefined) asked.delete(cancelled);
    return send(message);
  };
  return asked;
}

/** Closes the transport of a server that keeps asking and reads no replies, which would fill the memory. */
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
