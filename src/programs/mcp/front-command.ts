/** `agtp-mcp URI`: serves MCP in front of a server, as the agent that the command line names. */
import { finished, PassThrough, type Readable, Writable } from "node:stream";
import type {
  Implementation,
  JSONRPCMessage,
  RequestId,
  Server,
  ServerContext,
  Transport,
} from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { restoreOctets } from "../../base/exact-numbers.ts";
import { reasonOf } from "../../base/thrown.ts";
import { VERSION } from "../../base/version.ts";
import { createClient } from "../../client/client.ts";
import { createAnsweringServer } from "../../modules/mcp/answering-server.ts";
import { knowsTasks } from "../../modules/mcp/tasks/task-requests.ts";
import type { HeaderField } from "../../wire/fields.ts";
import { clientOptions, parseServerUri } from "../shell/ask-server.ts";
import { type Line, readText, usage } from "../shell/command.ts";
import { defuseLine, type Terminal } from "../shell/terminal.ts";
import type { FRONT_ARGS, FRONT_OPTIONS } from "./front-options.ts";
import { ServerFront } from "./server-front.ts";

/** The timeout of a call; servers have their own deadlines, and clients can cancel. */
const TIMEOUT_MS = 600_000;
/** Several, so that a slow call does not delay others. */
const CONNECTIONS = 8;

/** Serves MCP until standard input has ended and its requests are answered. */
export async function runFront(
  line: Line<typeof FRONT_ARGS, typeof FRONT_OPTIONS>,
  terminal: Terminal,
): Promise<void> {
  const uri = parseServerUri(line.uri);
  const lookMs = readSeconds(line.look) * 1_000;
  const client = createClient({
    ...clientOptions(line, uri, terminal),
    ...{ timeoutMs: TIMEOUT_MS, maxConnections: CONNECTIONS },
  });
  const tell = (message: string): void => {
    terminal.err.write(`agtp-mcp: ${defuseLine(message)}\n`);
  };
  const caller = {
    agentId: line.agentId,
    scopes: line.scope?.split(",").map((scope) => scope.trim()),
    headers: bearerField(line.bearer, terminal),
  };
  const front = new ServerFront({
    client,
    caller,
    trust: line,
    tell,
    now: () => performance.now(),
    lookMs,
  });
  try {
    await serveFront(front, terminal.streams, tell);
  } finally {
    front.close();
    await client.close();
  }
}

function readSeconds(text = "60"): number {
  const isSeconds = /^\d{1,5}$/.test(text) && Number(text) > 0;
  if (!isSeconds) throw usage("expected --look in whole seconds, 1 to 99999");
  return Number(text);
}

/** A token in a file does not appear in process lists. */
function bearerField(bearer: string | undefined, { directory }: Terminal): HeaderField[] {
  if (bearer === undefined) return [];
  const token = bearer.startsWith("@") ? readText(directory, bearer.slice(1)).trim() : bearer;
  return [["Authorization", `Bearer ${token}`]];
}

const INFO: Implementation = { name: "agtp-mcp", version: VERSION };

type Tell = (message: string) => void;

/** Serves both protocol versions on standard input and output; resolves once the client has gone.   MCP "stdio" */
async function serveFront(
  front: ServerFront,
  { input, output }: Terminal["streams"],
  tell: Tell,
): Promise<void> {
  const held = holdInput(input);
  const transport = new StdioServerTransport(held.stream, exactly(output));
  const make = ({ era }: { readonly era: string }): Server => {
    const server = createServer(front, tell, era === "modern");
    // In the current protocol the library notifies subscribers, in the older one every client.
    front.watch(() => void server.sendToolListChanged().catch(() => undefined));
    return server;
  };
  serveStdio(make, { transport, onerror: (error) => tell(faultText(error)) });
  held.follow(transport);
  await new Promise<void>((resolve) => {
    const { onclose } = transport;
    transport.onclose = () => {
      onclose?.();
      resolve();
    };
  });
  held.close();
  // A message over the size limit ends the conversation while the input is still open.
  input.destroy();
}

/** Why not the library's messages for a line: its schemas list every alternative that they would accept. */
function faultText({ name, message }: Error): string {
  return name === "ZodError" ? "a line that is no message of MCP is not answered" : message;
}

/** Applies `restoreOctets` to each write of the library, which always is a whole message. */
function exactly(output: Writable): Writable {
  const exact = new Writable({
    write: (message: Uint8Array, _, done) =>
      void output.write(restoreOctets(message), () => done()),
  });
  output.on("error", (error) => exact.destroy(error));
  return exact;
}

function createServer(front: ServerFront, tell: Tell, isCurrent: boolean): Server {
  return createAnsweringServer(INFO, isCurrent, {
    report: (thrown) => {
      tell(`a request failed: ${reasonOf(thrown)}`);
      return { code: -32_603, message: "the program failed to answer", data: {} };
    },
    list: (cursor) => front.list(cursor, isCurrent),
    call: async ({ name, arguments: input = {} }, context) => {
      const { _meta: meta, signal } = context.mcpReq;
      const quiet = tellProgress(context, name);
      try {
        const isKnowing = isCurrent && knowsTasks(context);
        return await front.call({
          ...{ name, arguments: input, meta, signal, isCurrent, knowsTasks: isKnowing },
        });
      } finally {
        quiet();
      }
    },
    resources: () => front.resources(),
    read: (uri, { mcpReq }) => front.read(uri, mcpReq.signal),
    tasksOf: () => front.tasks,
  });
}

/** Shorter than the timeout of any client. */
const EVERY_SECONDS = 5;

/**
 * Reports the elapsed seconds of a call to a client that asked for progress, until the returned
 * function is called: AGTP has no progress on its wire.   MCP "Progress"
 */
export function tellProgress({ mcpReq }: Pick<ServerContext, "mcpReq">, tool: string): () => void {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => undefined;
  let progress = 0;
  const timer = setInterval(() => {
    progress += EVERY_SECONDS;
    const message = `${tool} has been under way for ${progress} s`;
    const params = { progressToken, progress, message };
    // Fails if the client has gone, which is ignored.
    void mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
  }, EVERY_SECONDS * 1_000);
  return () => clearInterval(timer);
}

/** The default timeout of handlers; after it, unanswered requests of a client that has gone are abandoned. */
const LINGER_MS = 30_000;

interface AnsweredInput {
  readonly stream: Readable;
  /** Counts requests and answers; called once the transport is being served. */
  follow(transport: Transport): void;
  close(): void;
}

/**
 * Wraps the input of a conversation so that it ends only once every request is answered: a client
 * that writes its requests and closes its end can still read the answers.   MCP "stdio"
 */
function holdInput(input: Readable): AnsweredInput {
  const stream = new PassThrough();
  const unanswered = new Set<RequestId>();
  let lingering: NodeJS.Timeout | undefined;
  const endIfAnswered = (): void => {
    if (lingering === undefined || stream.readableLength > 0 || unanswered.size > 0) return;
    clearTimeout(lingering);
    stream.end();
  };
  input.pipe(stream, { end: false });
  const unwatch = finished(input, { writable: false }, () => {
    lingering = setTimeout(() => stream.end(), LINGER_MS);
    endIfAnswered();
  });
  return {
    stream,
    follow: (transport) => {
      const { onmessage } = transport;
      const send = transport.send.bind(transport);
      transport.onmessage = (message, extra) => {
        note(message, unanswered);
        onmessage?.(message, extra);
      };
      transport.send = async (message, options) => {
        await send(message, options);
        if ("method" in message || message.id === undefined) return;
        unanswered.delete(message.id);
        endIfAnswered();
      };
      // Runs after the transport's own listener, which has registered the messages by then.
      stream.on("data", endIfAnswered);
    },
    close: () => {
      unwatch();
      clearTimeout(lingering);
    },
  };
}

/** Registers a request as unanswered, except subscriptions; a cancellation removes it. */
function note(message: JSONRPCMessage, unanswered: Set<RequestId>): void {
  if (!("method" in message)) return;
  if ("id" in message) {
    if (message.method !== "subscriptions/listen") unanswered.add(message.id);
    return;
  }
  if (message.method !== "notifications/cancelled") return;
  const id = message.params?.["requestId"];
  if (typeof id === "string" || typeof id === "number") unanswered.delete(id);
}
