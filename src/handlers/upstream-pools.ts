/**
 * Connections to external services: one pool of kept-alive, verified TLS connections for each
 * origin and set of trusted CAs, shared by all endpoints that have both in common. AGTP-API §12.3
 */
import { type buildConnector, Client, type Dispatcher, Pool } from "undici";
import { raceAbort } from "../base/deadline.ts";
import { codeOf } from "../base/thrown.ts";
import { connectionOptions, limitInterim } from "./connection-options.ts";
import { pacePieces } from "./paced-answers.ts";

const MAX_CONNECTIONS = 64;
const CONNECT_TIMEOUT_MS = 10_000;

/** The key of the pool that an endpoint shares. */
interface Upstream {
  readonly origin: string;
  /** PEM text to trust instead of the system's CAs. */
  readonly ca: string | undefined;
}

/** A request, what ends it, and who is told when a connection has taken it. */
type EndedRequest = Dispatcher.RequestOptions & {
  readonly signal: AbortSignal;
  /** From here on nobody but the upstream knows whether it is done. */
  readonly onSent?: () => void;
};

interface UpstreamPool {
  /**
   * Sends a request; rejects once its signal fires, also before there is a connection for it. A GET or HEAD is
   * sent once more, and never a third time, where the server closed a connection that had served before and
   * said nothing of this one: it had given the connection up as the request was on its way.   RFC 9110 §9.2.2,
   * RFC 9112 §9.3.1
   */
  request(request: EndedRequest): Promise<Dispatcher.ResponseData>;
}

/** Owns the connections of one configuration. */
export interface UpstreamPools {
  pool(upstream: Upstream): UpstreamPool;
  /** Lets running requests finish, then closes every connection. */
  close(): Promise<void>;
}

/** Makes pools as endpoints ask for them; connects to nothing by itself. */
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
  /** The ends of connections that had served before and said nothing of the request they failed. */
  const givenUp = new WeakSet<Error>();
  const pool = new Pool(origin, {
    ...connectionOptions({ connections, connectTimeoutMs: CONNECT_TIMEOUT_MS, ca }),
    factory: (url, options) => createConnection(url, options as ConnectionParts, givenUp),
  });
  const paced = pool.compose(pacePieces, tellSent);
  // undici looks at a signal only once the request has a connection.
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

/** Tells the request when a connection takes it. */
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

/** Safe methods alone, and nothing that would have to be read twice. */
function isRepeatable({ method, body }: Dispatcher.RequestOptions): boolean {
  return (method === "GET" || method === "HEAD") && (body === null || body === undefined);
}

/** A peer's close, its reset, and a write after either. */
const CLOSED_BY_PEER = new Set(["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"]);

type Connected = buildConnector.CallbackArgs;

/** The options that a pool gives its connections. */
type ConnectionParts = Client.Options & { readonly connect: buildConnector.connector };

/** One connection of a pool, made again as often as it ends; one request at a time. */
function createConnection(
  origin: URL,
  { connect, ...options }: ConnectionParts,
  givenUp: WeakSet<Error>,
): Client {
  let socket: Connected[1] = null;
  /** The octets of the answers before the request that is under way. */
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
  // A connection is free for the next request: what came so far are answers.
  client.on("drain", () => {
    answered = socket?.bytesRead ?? 0;
  });
  client.on("disconnect", (_origin, _targets, error) => {
    const isSilent = answered > 0 && socket?.bytesRead === answered;
    if (isSilent && CLOSED_BY_PEER.has(codeOf(error))) givenUp.add(error);
  });
  return client;
}
