/**
 * The connections to other HTTP servers, under the same rules for all: kept alive, HTTP/1.1 without
 * pipelining, verified, to no address that is forbidden to upstreams, with bounded reads. Also an
 * HTTP client for modules that call such a server themselves.   AGTP-API §12.3
 */
import { type LookupAddress, lookup } from "node:dns";
import type { LookupFunction } from "node:net";
import type { Dispatcher, Pool } from "undici";
import { isLoopbackAddress, isNobodysAddress } from "../base/addresses.ts";
import { within } from "../base/deadline.ts";
import { given } from "../base/json-value.ts";
import { loadLate } from "../base/late-load.ts";
import { pacePieces, turnOfLong } from "./paced-answers.ts";
import { type Resolve, shareLookUps } from "./shared-look-ups.ts";

/** The options in which connections differ. */
interface ConnectionNeeds {
  /** The maximum of simultaneous connections to one origin. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
  /** PEM text to trust instead of the system's CAs. */
  readonly ca?: string | undefined;
  /** Resolves names to addresses. Default: the system's resolver, within bounds. */
  readonly lookup?: LookupFunction;
}

/** Builds the options for a pool or an agent. */
export function connectionOptions({
  connections,
  connectTimeoutMs,
  ca,
  lookup = createUpstreamLookup(),
}: ConnectionNeeds): Pick<Pool.Options, "connections" | "pipelining" | "allowH2" | "connect"> {
  return {
    connections,
    pipelining: 1,
    allowH2: false,
    connect: {
      timeout: connectTimeoutMs,
      // Set explicitly, so that no environment variable can switch verification off.
      rejectUnauthorized: true,
      lookup,
      ...(ca === undefined ? {} : { ca }),
    },
  };
}

/** The look-up of all connections by default, over the system's resolver. */
const SYSTEM = shareLookUps(lookup);

/**
 * Creates the look-up for connections, over the system's resolver unless another is given. DNS
 * answers may change, so the addresses are checked for each new connection: only `localhost` may
 * resolve to this machine, and no name to link-local, unspecified or multicast addresses.
 * RFC 6761 §6.3, RFC 6890
 */
export function createUpstreamLookup(resolve: Resolve = SYSTEM): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, "");
      const [first, ...others] = found.filter((one) => isAllowed(hostname, one));
      if (first === undefined) return callback(refused(hostname), "");
      if (options.all === true) callback(null, [first, ...others]);
      else callback(null, first.address, first.family);
    });
  };
}

function isAllowed(hostname: string, { address }: LookupAddress): boolean {
  return !isNobodysAddress(address) && isLoopbackAddress(address) === isOwnName(hostname);
}

/** Returns true for names that no name server is asked about.   RFC 6761 §6.3 */
function isOwnName(hostname: string): boolean {
  return /^(?:.+\.)?localhost\.?$/i.test(hostname);
}

/** The look-up error of a forbidden address, which it does not reveal. */
function refused(hostname: string): NodeJS.ErrnoException {
  const message = `${JSON.stringify(hostname)} stands for no address that an upstream may have`;
  return Object.assign(new Error(message), { code: "ERR_AGTP_UPSTREAM_ADDRESS" });
}

/** An HTTP client over connections of its own; redirects are not followed. */
export interface HttpClient {
  /** Loads the HTTP library ahead of the first request. */
  prepare(): void;
  /** Resolves once the response begins; rejects if there is none. Header fields are sent as given. */
  request(
    url: string,
    request: Pick<Dispatcher.RequestOptions, "headers" | "signal"> & {
      readonly method?: Dispatcher.HttpMethod;
      readonly body?: string | undefined;
    },
  ): Promise<Dispatcher.ResponseData>;
  /** Aborts requests in flight. */
  close(): Promise<void>;
}

/**
 * Creates a client that connects only when a request is made. `silenceMs` bounds how long a server
 * may send nothing. The HTTP library is loaded late, because loading it would slow the start.
 */
export function createHttpClient({
  silenceMs,
  ...needs
}: ConnectionNeeds & { readonly silenceMs?: number }): HttpClient {
  const agent = loadLate(async () => {
    const { Agent } = await import("undici");
    const silence = given({ headersTimeout: silenceMs, bodyTimeout: silenceMs });
    return new Agent({ ...connectionOptions(needs), ...silence }).compose(pacePieces);
  });
  return {
    prepare: () => agent.prepare(),
    async request(url, { method = "GET", body = null, ...request }) {
      const { origin, pathname, search } = new URL(url);
      const connected = await agent();
      const response = await connected.request({
        ...{ origin, path: `${pathname}${search}`, method, body, ...request },
        onInfo: limitInterim(),
      });
      // Why: a discarded body emits another error when it ends, which would have no listener.
      response.body.on("error", () => undefined);
      return response;
    },
    async close() {
      await (await agent.begun?.catch(() => undefined))?.destroy();
    },
  };
}

/** More than any server needs to say that a request is under way.   RFC 9110 §15.2 */
const MAX_INTERIM_RESPONSES = 16;

/** The `onInfo` of one request, which throws once its server has sent too many interim responses. */
export function limitInterim(): () => void {
  let count = 0;
  return () => {
    count += 1;
    if (count > MAX_INTERIM_RESPONSES) throw new Error("too many interim responses");
  };
}

/**
 * Reads the whole body, in a turn of its own if it is long; undefined if it exceeds the limit, and
 * the rest is not received.
 */
export async function readBoundedBody(
  limit: number,
  { body, headers }: Pick<Dispatcher.ResponseData, "body" | "headers">,
): Promise<Buffer | undefined> {
  const announced = Number(headers["content-length"] ?? 0);
  if (announced > limit) {
    body.destroy();
    return undefined;
  }
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    // Leaving the loop destroys the body, and the connection with it.
    if (length > limit) return undefined;
    chunks.push(chunk);
  }
  await turnOfLong(length);
  return Buffer.concat(chunks, length);
}

/** The octets of an unread body that are drained so that its connection can be reused. */
const DRAINED_BYTES = 65_536;
/** A body that drains for longer closes its connection: closing the pool waits for connections in use. */
const DRAIN_MS = 1_000;

/** Discards a body; its connection is reused if little of it is left. */
export function discardBody({ body }: Pick<Dispatcher.ResponseData, "body">): void {
  const ends = { signals: [], timeoutMs: DRAIN_MS };
  within(ends, (signal) => body.dump({ limit: DRAINED_BYTES, signal })).catch(() => undefined);
}
