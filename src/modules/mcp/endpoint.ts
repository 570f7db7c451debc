/**
 * The MCP endpoint of a process: 2026-07-28, whose requests are independent, and 2025-11-25, which has sessions, on
 * one URL. The library tells them apart, and each is answered by its own rules only. Open streams and sessions survive
 * a reload.   MCP "Streamable HTTP"
 */
import {
  classifyInboundRequest,
  createMcpHandler,
  isLegacyRequest,
  type McpHttpHandler,
  type Server,
} from "@modelcontextprotocol/server";
import { given, isRecord, type JsonRecord, recordIn } from "../../base/json-value.ts";
import { recentlyUsed } from "../../base/recently-used.ts";
import type { McpFront, McpRequest } from "./front.ts";
import { authInfoOf, createMcpServer } from "./library-server.ts";
import type { Audience } from "./listening/audience.ts";
import type { OpenStreams } from "./listening/open-streams.ts";
import { Subscriptions } from "./listening/subscriptions.ts";
import { canElicitBy } from "./opaque-server.ts";
import { answerPlain, type OnLeave, type PlainAnswer } from "./plain-answer.ts";
import {
  CURRENT_VERSION,
  ENVELOPE,
  type HttpFields,
  readPlain,
  VERSION_CLAIM,
} from "./plain-request.ts";
import { jsonError, Sessions } from "./sessions.ts";
import { disagreement } from "./tools/param-headers.ts";

interface EndpointParts {
  /** The server's name, fixed while the process runs. */
  readonly serverId: string;
  readonly audience: Audience;
  readonly streams: OpenStreams;
  /** The deployment that is served now. */
  served(): McpFront | undefined;
}

/** Answers HTTP requests of MCP clients. */
export class McpEndpoint {
  readonly #serverId: string;
  readonly #create: () => Server;
  /** Handlers of running requests and their streams. */
  readonly #handlers = new Set<McpHttpHandler>();
  readonly #envelopes = new KnownEnvelopes();
  readonly #sessions: Sessions;
  readonly #subscriptions: Subscriptions;

  constructor({ serverId, audience, streams, served }: EndpointParts) {
    this.#serverId = serverId;
    this.#create = () => createMcpServer(serverId, "current");
    this.#sessions = new Sessions(audience, streams);
    this.#subscriptions = new Subscriptions({ create: this.#create, audience, streams, served });
  }

  /** Answers a plain request, with status 200; undefined if `handle` must answer. */
  async answerPlain(
    fields: HttpFields,
    request: McpRequest,
    body: unknown,
    onLeave: OnLeave,
  ): Promise<PlainAnswer | undefined> {
    const plain = readPlain(fields, body, (meta) => this.#envelopes.has(meta));
    if (plain === undefined) return this.#sessions.answerPlain(fields, request, body);
    if (plain.kind === "call" && headerFault(request, plain, (name) => fields[name])) {
      return undefined;
    }
    const client = { canElicit: canElicitBy(plain.meta), serverId: this.#serverId };
    const text = await answerPlain({ request, plain, onLeave, ...client });
    return text === undefined ? undefined : { type: "application/json", body: text };
  }

  /** Answers any request; `body` is its parsed JSON. Rejects if the library fails. */
  async handle(http: Request, request: McpRequest, body: unknown): Promise<Response> {
    const response = await this.#handle(http, request, body);
    if (response.status === 500) throw new Error("the library answered 500");
    // A stream that begins while the daemon stops has missed `endStreams`, so it is ended here.
    if (request.front.stopping.aborted) this.endStreams();
    return response;
  }

  async #handle(http: Request, request: McpRequest, body: unknown): Promise<Response> {
    if (Array.isArray(body)) return jsonError(400, BATCH);
    const fault =
      isCurrent(body) && headerFault(request, callIn(body), (name) => http.headers.get(name));
    if (fault) return jsonError(400, { code: HEADER_MISMATCH, message: fault }, body);
    // If the body is no message of either protocol, the library says why.
    const isMessage = http.method !== "POST" || body !== undefined;
    if (isMessage && !isCurrent(body) && (await isLegacyRequest(http, body)))
      return this.#sessions.handle(http, request, body);
    if (isListening(body)) return this.#subscriptions.handle(http, request, body);
    return this.#handleCurrent(http, request, body);
  }

  /**
   * Answers each request with a library handler of its own, so that a 500 has this request's cause.
   * An AsyncLocalStorage would make every await of the process slower on Node 20 and 22.
   */
  async #handleCurrent(http: Request, request: McpRequest, body: unknown): Promise<Response> {
    let cause: Error | undefined;
    const onerror = (error: Error): void => {
      cause = error;
    };
    const handler = createMcpHandler(this.#create, { legacy: "reject", onerror });
    const release = (): void => void this.#handlers.delete(handler);
    this.#handlers.add(handler);
    http.signal.addEventListener("abort", release, { once: true });
    let isStream = false;
    try {
      const response = await handler.fetch(http, {
        authInfo: authInfoOf(request),
        ...(body === undefined ? {} : { parsedBody: body }),
      });
      isStream = response.headers.get("content-type") === "text/event-stream";
      if (response.status === 500 && cause !== undefined) throw cause;
      return response;
    } finally {
      if (!isStream || http.signal.aborted) release();
    }
  }

  /** Ends the streams without a pending answer; running requests go on. */
  endStreams(): void {
    this.#sessions.endStreams();
    this.#subscriptions.end();
  }

  async close(): Promise<void> {
    this.endStreams();
    this.#sessions.close();
    await Promise.all([...this.#handlers].map((handler) => handler.close()));
  }
}

const HEADER_MISMATCH = -32_020;

interface NamedCall {
  readonly name: unknown;
  readonly arguments: unknown;
}

/** Returns the name and arguments of a call, before any validation. */
function callIn(body: unknown): NamedCall | undefined {
  if (!isRecord(body) || body["method"] !== "tools/call" || !isRecord(body["params"])) {
    return undefined;
  }
  const { name, arguments: given } = body["params"];
  return { name, arguments: given };
}

/** Describes a disagreement between a call's header fields and its arguments. */
function headerFault(
  { front }: McpRequest,
  call: NamedCall | undefined,
  fieldOf: (name: string) => unknown,
): string | undefined {
  const tool = typeof call?.name === "string" ? front.toolbox.find(call.name) : undefined;
  const headers = tool?.description.headers ?? [];
  return headers.length === 0 ? undefined : disagreement(headers, call?.arguments, fieldOf);
}

/** True for a message with a version claim, which the older protocol never has. */
function isCurrent(body: unknown): boolean {
  const params = recordIn(body)["params"];
  const meta = recordIn(params)["_meta"];
  return isRecord(meta) && VERSION_CLAIM in meta;
}

/** Batches exist in neither protocol. */
const BATCH = { code: -32_600, message: "Invalid Request: batches are not answered" };

function isListening(body: unknown): boolean {
  return isRecord(body) && body["method"] === "subscriptions/listen";
}

/** Maximal number of known envelopes; clients have few, and they are short. */
const MAX_KNOWN = 1_024;
const MAX_LENGTH = 2_048;

/**
 * Validated envelopes of 2026-07-28, the client's name and capabilities in each message. They are cached by their
 * text, so that the library validates each once.   MCP "Base Protocol" (_meta)
 */
export class KnownEnvelopes {
  readonly #known = recentlyUsed<true>(MAX_KNOWN);

  /** True for a valid envelope; a long one is never cached, and counts as unknown. */
  has(meta: JsonRecord): boolean {
    const envelope: Record<string, unknown> = {};
    for (const name of ENVELOPE) envelope[name] = meta[name];
    const text = JSON.stringify(envelope);
    if (text.length > MAX_LENGTH) return false;
    if (this.#known.get(text) === true) return true;
    const isTaken = isTakenByLibrary(envelope);
    if (isTaken) this.#known.set(text, true);
    return isTaken;
  }
}

function isTakenByLibrary(envelope: JsonRecord): boolean {
  const _meta: JsonRecord = { ...given(envelope), [VERSION_CLAIM]: CURRENT_VERSION };
  const body = { jsonrpc: "2.0", id: 0, method: "tools/list", params: { _meta } };
  return classifyInboundRequest({ httpMethod: "POST", body }).kind === "modern";
}
