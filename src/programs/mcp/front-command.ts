/** `agtp-mcp URI`: stands in front of a server, as the agent that the command line names. */
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

/** How long a call may take; servers have deadlines of their own, and clients cancel. */
const TIMEOUT_MS = 600_000;
/** A slow call holds up none of these. */
const CONNECTIONS = 8;

/** Serves MCP until standard input has ended and what it asked is answered. */
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

/** A token in a file is in no list of processes. */
function bearerField(bearer: string | undefined, { directory }: Terminal): HeaderField[] {
  if (bearer === undefined) return [];
  const token = bearer.startsWith("@") ? readText(directory, bearer.slice(1)).trim() : bearer;
  return [["Authorization", `Bearer ${token}`]];
}

const INFO: Implementation = { name: "agtp-mcp", version: VERSION };

type Tell = (message: string) => void;

/** Serves on standard input and output, for both protocols; resolves once the client has gone.   MCP "stdio" */
async function serveFront(
  front: ServerFront,
  { input, output }: Terminal["streams"],
  tell: Tell,
): Promise<void> {
  const held = holdInput(input);
  const transport = new StdioServerTransport(held.stream, exactly(output));
  const make = ({ era }: { readonly era: string }): Server => {
    const server = createServer(front, tell, era === "modern");
    // In the current protocol the library tells those who listen, in the older one everybody.
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
  // A message that was too long ends the conversation with the input still open.
  input.destroy();
}

/** Why not the library's own words of a line: its schemas list what each of them would have taken. */
function faultText({ name, message }: Error): string {
  return name === "ZodError" ? "a line that is no message of MCP is not answered" : message;
}

/** Each of the library's writes is a whole message. */
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

/** Shorter than any client waits. */
const EVERY_SECONDS = 5;

/**
 * Tells a client that asked for progress for how many seconds its call has been under way, until
 * the function that is answered was called: AGTP has no progress on its wire.   MCP "Progress"
 */
export function tellProgress({ mcpReq }: Pick<ServerContext, "mcpReq">, tool: string): () => void {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => undefined;
  let progress = 0;
  const timer = setInterval(() => {
    progress += EVERY_SECONDS;
    const message = `${tool} has been under way for ${progress} s`;
    const params = { progressToken, progress, message };
    // A client that has gone hears nothing.
    void mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
  }, EVERY_SECONDS * 1_000);
  return () => clearInterval(timer);
}

/** As long as a handler may take by default; a client that has gone for good is not waited for any longer. */
const LINGER_MS = 30_000;

interface AnsweredInput {
  readonly stream: Readable;
  /** Counts what is asked and answered; called once the transport is served. */
  follow(transport: Transport): void;
  close(): void;
}

/**
 * The input of a conversation, which ends once every request in it is answered: a client that writes
 * its requests and closes its end reads what they came to.   MCP "stdio"
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
      // Behind the transport's own: what was read has been noted.
      stream.on("data", endIfAnswered);
    },
    close: () => {
      unwatch();
      clearTimeout(lingering);
    },
  };
}

/** A request waits for its answer, unless it is a subscription or is taken back. */
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
