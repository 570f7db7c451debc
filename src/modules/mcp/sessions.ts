/**
 * Sessions of 2025-11-25. Each has its own server, belongs to the caller that began it, and ends when that caller ends
 * it, after a time without use or listener, or when its caller begins too many others. For other callers it does not
 * exist.
 * 400 no session is named · 404 it is gone, or was never this caller's.   MCP 2025-11-25 "Session Management"
 */
import { randomUUID } from "node:crypto";
import {
  isInitializeRequest,
  isJSONRPCResponse,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { LRUCache } from "lru-cache";
import { isRecord, recordIn } from "../../base/json-value.ts";
import type { McpRequest } from "./front.ts";
import { authInfoOf, createMcpServer } from "./library-server.ts";
import { type Audience, BoundedNews, type Listener } from "./listening/audience.ts";
import type { OpenStreams } from "./listening/open-streams.ts";
import { knowsForms } from "./opaque-server.ts";
import { answerPlain, type PlainAnswer } from "./plain-answer.ts";
import {
  type HttpFields,
  isMessageId,
  type PlainRequest,
  readPlainInSession,
} from "./plain-request.ts";

interface Session {
  readonly id: string;
  /** The caller's key. */
  readonly key: string;
  readonly listener: Listener;
  readonly answers: SessionAnswers;
  readonly news: BoundedNews;
  readonly transport: WebStandardStreamableHTTPServerTransport;
}

interface SessionLimits {
  readonly total: number;
  readonly perCaller: number;
  readonly idleMs: number;
}

const LIMITS: SessionLimits = { total: 4096, perCaller: 64, idleMs: 3_600_000 };

const NO_SESSION = { code: -32_000, message: "Bad Request: Mcp-Session-Id header is required" };
/** MCP 2025-11-25 "Requests": an id must not be reused, since it names one response. */
const ID_IN_USE = {
  code: -32_600,
  message: "Invalid Request: a request with this id is under way in the session",
};
const NOT_FOUND = { code: -32_001, message: "Session not found" };

/** The sessions of a process; they survive a reload. */
export class Sessions {
  readonly #audience: Pick<Audience, "add">;
  readonly #streams: Pick<OpenStreams, "add">;
  readonly #limits: SessionLimits;
  readonly #open: LRUCache<string, Session>;
  /** Session ids by caller, oldest first. */
  readonly #byCaller = new Map<string, Set<string>>();

  constructor(
    audience: Pick<Audience, "add">,
    streams: Pick<OpenStreams, "add">,
    limits: SessionLimits = LIMITS,
    clock: Pick<typeof performance, "now"> = performance,
  ) {
    this.#audience = audience;
    this.#streams = streams;
    this.#limits = limits;
    this.#open = new LRUCache<string, Session>({
      ...{ maxSize: limits.total, sizeCalculation: () => 1 },
      // A session with an open stream is in use, however old its last request is.
      ...{ ttl: limits.idleMs, ttlResolution: 0, ttlAutopurge: false, allowStale: true },
      perf: clock,
      dispose: (session) => this.#forget(session),
    });
  }

  /** Answers a plain request; undefined if `handle` must answer. */
  async answerPlain(
    fields: HttpFields,
    request: McpRequest,
    body: unknown,
  ): Promise<PlainAnswer | undefined> {
    const id = fields["mcp-session-id"];
    const session = typeof id === "string" ? this.#use(id, request) : undefined;
    if (session === undefined) return undefined;
    const plain = readPlainInSession(fields, body);
    if (plain === undefined) return undefined;
    session.listener.caller = request.caller;
    return session.answers.answer(request, plain, session.id);
  }

  /** Answers an HTTP request of the older protocol. */
  async handle(http: Request, request: McpRequest, body: unknown): Promise<Response> {
    const options = {
      authInfo: authInfoOf(request),
      ...(body === undefined ? {} : { parsedBody: body }),
    };
    const id = http.headers.get("mcp-session-id");
    if (id !== null) {
      const session = this.#use(id, request);
      if (session === undefined) return jsonError(404, NOT_FOUND, body);
      session.listener.caller = request.caller;
      const asked = http.method === "POST" ? requestIdIn(body) : undefined;
      // The library would answer only one of two requests with the same id.
      if (asked !== undefined && !session.answers.begin(asked)) return jsonError(400, ID_IN_USE);
      const response = await session.transport.handleRequest(http, options);
      if (asked !== undefined && !response.ok) session.answers.settle(asked);
      endCancelled(session, body);
      const isNews = http.method === "GET" && response.status === 200;
      return isNews ? this.#watch(session, response) : response;
    }
    if (!isInitializeRequest(body)) return jsonError(400, NO_SESSION, body);
    return (await this.#connect(request)).handleRequest(http, options);
  }

  /** Watches a session's notification stream, which lasts as long as its caller is admitted. */
  #watch(session: Session, response: Response): Response {
    const leave = this.#streams.add({
      caller: () => session.listener.caller,
      end: () => session.transport.closeStandaloneSSEStream(),
    });
    return session.news.watch(response, () => {
      leave();
      this.#renew(session);
    });
  }

  /** Returns a caller's session and renews its idle time; undefined if there is none. */
  #use(id: string, { caller }: McpRequest): Session | undefined {
    const session = this.#open.peek(id);
    if (session === undefined || session.key !== caller.key) return undefined;
    if (session.news.isOpen || this.#open.getRemainingTTL(id) > 0) return this.#renew(session);
    this.#open.delete(id);
    return undefined;
  }

  #renew(session: Session): Session {
    if (this.#open.peek(session.id) === session) this.#open.set(session.id, session);
    return session;
  }

  /** Ends the notification streams of every session. */
  endStreams(): void {
    for (const { transport } of this.#open.values()) transport.closeStandaloneSSEStream();
  }

  /** Ends every session and its running requests. */
  close(): void {
    this.#open.clear();
  }

  async #connect({ front, caller }: McpRequest): Promise<WebStandardStreamableHTTPServerTransport> {
    const server = createMcpServer(front.serverId, "older");
    const answers = new SessionAnswers(server);
    const transport: WebStandardStreamableHTTPServerTransport =
      new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => {
          // Without an open stream there is nothing to send: the client asks when it needs the list.
          const news = new BoundedNews(() => {
            void server.sendToolListChanged().catch(() => undefined);
          });
          const listener = this.#audience.add(front, caller, () => news.tell());
          this.#add({ id, key: caller.key, listener, answers, news, transport });
        },
        onsessionclosed: (id) => void this.#open.delete(id),
      });
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      if (isJSONRPCResponse(message) && message.id !== undefined) answers.settle(message.id);
      return send(message, options);
    };
    await server.connect(transport);
    return transport;
  }

  #add(session: Session): void {
    const ids = this.#byCaller.get(session.key) ?? new Set();
    this.#byCaller.set(session.key, ids);
    ids.add(session.id);
    this.#open.set(session.id, session);
    const [oldest] = ids;
    if (ids.size > this.#limits.perCaller && oldest !== undefined) this.#open.delete(oldest);
  }

  #forget({ id, key, listener, answers, transport }: Session): void {
    listener.end();
    answers.endAll();
    const ids = this.#byCaller.get(key);
    ids?.delete(id);
    if (ids?.size === 0) this.#byCaller.delete(key);
    void transport.close().catch(() => undefined);
  }
}

/** Returns the id of a message that expects a response. */
function requestIdIn(body: unknown): string | number | undefined {
  if (!isRecord(body) || typeof body["method"] !== "string") return undefined;
  const { id } = body;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

/** Ends a cancelled request: the library no longer answers it, but would keep its stream open. */
function endCancelled({ answers, transport }: Session, body: unknown): void {
  const { params } = isRecord(body) && body["method"] === CANCELLED ? body : {};
  const id = recordIn(params)["requestId"];
  if (typeof id !== "string" && typeof id !== "number") return;
  answers.end(id);
  transport.closeSSEStream(id);
  // Makes the library forget the request; no client receives this response.
  const error = { code: -32_000, message: "cancelled" };
  void transport.send({ jsonrpc: "2.0", id, error }).catch(() => undefined);
}

const CANCELLED = "notifications/cancelled";

/** A JSON-RPC error response without a server. */
export function jsonError(
  status: number,
  error: { readonly code: number; readonly message: string; readonly data?: unknown },
  body?: unknown,
): Response {
  const id = (body as { readonly id?: unknown } | undefined)?.id;
  return Response.json({ jsonrpc: "2.0", error, id: isMessageId(id) ? id : null }, { status });
}

/**
 * Running plain requests of a session. Clients cancel them by a notification and not by leaving; a cancelled request
 * is not answered.   MCP 2025-11-25 "Cancellation"
 */
class SessionAnswers {
  readonly #server: Pick<Server, "getClientCapabilities">;
  /** Cancels each request, by message id. */
  readonly #running = new Map<string | number, () => void>();
  /** Ids of requests that the library is answering. */
  readonly #asked = new Set<string | number>();

  constructor(server: Pick<Server, "getClientCapabilities">) {
    this.#server = server;
  }

  /** Answers a plain request; undefined if the library must. */
  async answer(
    request: McpRequest,
    plain: PlainRequest,
    sessionId: string,
  ): Promise<PlainAnswer | undefined> {
    const { id } = plain;
    if (this.#isUnderWay(id)) return undefined;
    const listeners: (() => void)[] = [];
    const ended = new Promise<typeof ENDED>((resolve) => {
      this.#running.set(id, () => {
        for (const listener of listeners) listener();
        resolve(ENDED);
      });
    });
    const canElicit = knowsForms(this.#server.getClientCapabilities());
    const onLeave = (listener: () => void): void => void listeners.push(listener);
    const answering = answerPlain({ request, plain, onLeave, canElicit, serverId: undefined });
    try {
      const body = await Promise.race([answering, ended]);
      if (body === ENDED) return { type: "text/event-stream", body: "", sessionId };
      return body === undefined ? undefined : { type: "application/json", body, sessionId };
    } finally {
      this.#running.delete(id);
    }
  }

  /** Notes a request for the library; false if one with this id is running. */
  begin(id: string | number): boolean {
    if (this.#isUnderWay(id)) return false;
    this.#asked.add(id);
    return true;
  }

  /** Notes that the library has answered a request, or will not. */
  settle(id: string | number): void {
    this.#asked.delete(id);
  }

  #isUnderWay(id: string | number): boolean {
    return this.#running.has(id) || this.#asked.has(id);
  }

  /** Cancels a request. */
  end(id: string | number): void {
    this.#running.get(id)?.();
  }

  endAll(): void {
    for (const end of this.#running.values()) end();
  }
}

const ENDED = Symbol("ended");
