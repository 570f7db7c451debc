/** Opens the way to an MCP server: Streamable HTTP, or a child process that speaks on its pipes. */
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

/** A way that can be connected over once. */
export interface OpenedTransport {
  readonly transport: Transport;
  /** The end of what the child wrote to its standard error, on one line, for operators. */
  lastWords(): string;
  /** Tells the server that its session is over, in a second at most. Never rejects.   MCP 2025-11-25 "Session Management" */
  leave(): Promise<void>;
  /** Ends what the transport leaves open. */
  close(): Promise<void>;
}

const LAST_WORDS = 2_048;
/** A server that does not take a farewell keeps nobody longer. */
const LEAVE_MS = 1_000;
/** A server says when it wants to be asked again for a stream that it ended; these are the bounds. */
const RECONNECT_MS = { least: 1_000, most: 60_000 };
/** So many of our replies may wait for a server to take them: more than one for each call that is under way. */
const MAX_REPLIES = 512;
const MAX_MESSAGES_A_SECOND = 1_024;
/** Of a line that is no JSON, in messages: programs print things. */
const COST_OF_TEXT = 1 / 16;

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

/** The library's own method that ends the child whose version it asks for. */
const DISPOSE: string = "_dispose";

/** A child process that is heard no more than the loop can bear. */
class ChildTransport extends StdioClientTransport {
  /** The end of what it wrote to its standard error, or why it was ended. */
  words = "";

  constructor(server: StdioServerParameters) {
    super(server);
    // Output that nobody reads would fill the pipe, and the child would stand still.
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
    // The library offers no other way to what a child has written, octet for octet.
    Object.assign(this, { _readBuffer: new ResultReader(server.maxBufferSize ?? 0, onLine) });
  }

  /** The library starts that child only by a class with a method of its own. */
  [DISPOSE](): Promise<void> {
    return Reflect.apply(Reflect.get(StdioClientTransport.prototype, DISPOSE), this, []);
  }
}

/** Counts what a child says that answers nothing; more than the loop can bear ends it: no pipe is read more slowly. */
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
