/**
 * The connections to external services: one pool of kept-alive, verified TLS connections for each
 * origin and set of trusted CAs, shared by the endpoints that have both in common.   AGTP-API §12.3
 */
import { type buildConnector, Client, type Dispatcher, Pool } from "undici";
import { raceAbort } from "../base/deadline.ts";
import { codeOf } from "../base/thrown.ts";
import { connectionOptions, limitInterim } from "./connection-options.ts";
import { pacePieces } from "./paced-answers.ts";

const MAX_CONNECTIONS = 64;
const CONNECT_TIMEOUT_MS = 10_000;

/** The key of a pool. */
interface Upstream {
  readonly origin: string;
  /** PEM text to trust instead of the system's CAs. */
  readonly ca: string | undefined;
}

/** A request with the signal that ends it and a callback for when it is sent. */
type EndedRequest = Dispatcher.RequestOptions & {
  readonly signal: AbortSignal;
  /** Called once a connection takes the request: from then on only the upstream knows the outcome. */
  readonly onSent?: () => void;
};

interface UpstreamPool {
  /**
   * Sends a request; rejects once its signal fires, even before there is a connection for it. A GET
   * or HEAD is retried once if the server closed a reused connection without answering it: the
   * server had closed the idle connection while the request was on its way.
   * RFC 9110 §9.2.2, RFC 9112 §9.3.1
   */
  request(request: EndedRequest): Promise<Dispatcher.ResponseData>;
}

/** The connections of one configuration. */
export interface UpstreamPools {
  pool(upstream: Upstream): UpstreamPool;
  /** Waits for running requests, then closes every connection. */
  close(): Promise<void>;
}

/** Creates pools on demand; connects to nothing itself. */
export function createUpstreamPools(connections: number = MAX_CONNECTIONS): UpstreamPools {
  const pools = new Map<string, UpstreamPool & { close(): Promise<void> }>();
  return {
    pool(upstream) {
      const key = `${upstream.origin}\n${upstream.ca ?? ""}`;
      let pool = pools.get(key);
      if (pool === undefined) {
        pool = createPool(upstream, connections);
        pools.set(key, pool);
      }
      return pool;
    },
    async close() {
      await Promise.all([...pools.values()].map((pool) => pool.close()));
    },
  };
}

function createPool(
  { origin, ca }: Upstream,
  connections: number,
): UpstreamPool & { close(): Promise<void> } {
  /** Errors of reused connections that closed without answering their request. */
  const givenUp = new WeakSet<Error>();
  const pool = new Pool(origin, {
    ...connectionOptions({ connections, connectTimeoutMs: CONNECT_TIMEOUT_MS, ca }),
    factory: (url, options) => createConnection(url, options as ConnectionParts, givenUp),
  });
  const paced = pool.compose(pacePieces, tellSent);
  // Why the race: undici checks a signal only once the request has a connection.
  const send = async (request: EndedRequest): Promise<Dispatcher.ResponseData> => {
    request.signal.throwIfAborted();
    const response = await raceAbort(
      paced.request({ ...request, onInfo: limitInterim() }),
      request.signal,
    );
    if (response === "aborted") throw request.signal.reason;
    return response;
  };
  return {
    async request(request) {
      try {
        return await send(request);
      } catch (error) {
        if (!isRepeatable(request) || !givenUp.has(error as Error)) throw error;
        return send(request);
      }
    },
    close: () => pool.close(),
  };
}

/** Calls `onSent` when a connection takes the request. */
const tellSent: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  const { onSent } = options as Pick<EndedRequest, "onSent">;
  return dispatch(options, onSent === undefined ? handler : tellingStart(handler, onSent));
};

function tellingStart(
  handler: Dispatcher.DispatchHandler,
  onSent: () => void,
): Dispatcher.DispatchHandler {
  return {
    onRequestStart(...all) {
      onSent();
      handler.onRequestStart?.(...all);
    },
    onRequestUpgrade: (...all) => handler.onRequestUpgrade?.(...all),
    onResponseStart: (...all) => handler.onResponseStart?.(...all),
    onResponseData: (...all) => handler.onResponseData?.(...all),
    onResponseEnd: (...all) => handler.onResponseEnd?.(...all),
    onResponseError: (...all) => handler.onResponseError?.(...all),
  };
}

/** Only safe methods without a body are repeatable. */
function isRepeatable({ method, body }: Dispatcher.RequestOptions): boolean {
  return (method === "GET" || method === "HEAD") && (body === null || body === undefined);
}

/** The error codes of a peer's close, its reset, and a write after either. */
const CLOSED_BY_PEER = new Set(["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"]);

type Connected = buildConnector.CallbackArgs;

/** The options that a pool passes to its connections. */
type ConnectionParts = Client.Options & { readonly connect: buildConnector.connector };

/** Creates one connection of a pool, reopened whenever it ends; one request at a time. */
function createConnection(
  origin: URL,
  { connect, ...options }: ConnectionParts,
  givenUp: WeakSet<Error>,
): Client {
  let socket: Connected[1] = null;
  /** The octets received for earlier requests. */
  let answered = 0;
  const client = new Client(origin, {
    ...options,
    connect(target, callback) {
      connect(target, (...connected: Connected) => {
        socket = connected[1];
        answered = 0;
        callback(...connected);
      });
    },
  });
  // The connection is idle, so everything received so far belongs to finished answers.
  client.on("drain", () => {
    answered = socket?.bytesRead ?? 0;
  });
  client.on("disconnect", (_origin, _targets, error) => {
    const isSilent = answered > 0 && socket?.bytesRead === answered;
    if (isSilent && CLOSED_BY_PEER.has(codeOf(error))) givenUp.add(error);
  });
  return client;
}
