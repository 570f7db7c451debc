/**
 * Connections to somebody else's HTTP server, the same for all: kept alive, HTTP/1.1 without
 * pipelining, verified, to no address that an upstream may not have, and read no further than was
 * agreed. And the client of code that asks such a server for something of its own.   AGTP-API §12.3
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
  /** The most at once to one origin. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
  /** PEM text to trust instead of the system's CAs. */
  readonly ca?: string | undefined;
  /** Resolves names to addresses; by the system, within bounds, unless given. */
  readonly lookup?: LookupFunction;
}

/** The options, for a pool or an agent. */
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
      // Said aloud, so that no environment variable can switch verification off.
      rejectUnauthorized: true,
      lookup,
      ...(ca === undefined ? {} : { ca }),
    },
  };
}

/** Those of all connections, over the system's resolver. */
const SYSTEM = shareLookUps(lookup);

/**
 * A look-up for connections, over the system's resolver unless another is given. Names are somebody
 * else's to change, so the addresses are judged each time a connection is made: `localhost` alone
 * stands for this machine, and no name for addresses of a link, of nobody or of many.   RFC 6761
 * §6.3, RFC 6890
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

/** No name server is asked about these.   RFC 6761 §6.3 */
function isOwnName(hostname: string): boolean {
  return /^(?:.+\.)?localhost\.?$/i.test(hostname);
}

/** Nobody learns which address it was. */
function refused(hostname: string): NodeJS.ErrnoException {
  const message = `${JSON.stringify(hostname)} stands for no address that an upstream may have`;
  return Object.assign(new Error(message), { code: "ERR_AGTP_UPSTREAM_ADDRESS" });
}

/** Asks others' servers over connections of its own; no redirect is followed. */
export interface HttpClient {
  /** Loads what asking takes, while nobody waits for it. */
  prepare(): void;
  /** The response as it begins; rejects where there is none. Header fields are sent as they are given. */
  request(
    url: string,
    request: Pick<Dispatcher.RequestOptions, "headers" | "signal"> & {
      readonly method?: Dispatcher.HttpMethod;
      readonly body?: string | undefined;
    },
  ): Promise<Dispatcher.ResponseData>;
  /** Breaks off what is under way. */
  close(): Promise<void>;
}

/**
 * A client that connects to nothing before it is asked. `silenceMs`: the longest that a server may say nothing.
 * The HTTP library takes long to load: a start does not wait for it.
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
      // A body that is given up fails once more when it ends, with nobody left to be told.
      response.body.on("error", () => undefined);
      return response;
    },
    async close() {
      await (await agent.begun?.catch(() => undefined))?.destroy();
    },
  };
}

/** More than anybody needs who says that a request is under way.   RFC 9110 §15.2 */
const MAX_INTERIM_RESPONSES = 16;

/** The `onInfo` of one request, which fails where its server sends interim responses on and on. */
export function limitInterim(): () => void {
  let count = 0;
  return () => {
    count += 1;
    if (count > MAX_INTERIM_RESPONSES) throw new Error("too many interim responses");
  };
}

/**
 * The whole body, in a turn of its own where it is long; or undefined when it is too long, and the rest is then
 * never received.
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

/** The octets of an unread body that are drained so that its connection can be used again. */
const DRAINED_BYTES = 65_536;
/** A body that takes longer takes its connection with it: who closes all connections waits for those in use. */
const DRAIN_MS = 1_000;

/** Gives up a body; its connection is used again where little of it is left. */
export function discardBody({ body }: Pick<Dispatcher.ResponseData, "body">): void {
  const ends = { signals: [], timeoutMs: DRAIN_MS };
  within(ends, (signal) => body.dump({ limit: DRAINED_BYTES, signal })).catch(() => undefined);
}
