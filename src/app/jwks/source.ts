/**
 * Fetches the token issuer's JSON Web Key Set over HTTPS: one bounded answer within a few seconds,
 * from the configured address only. Failures are returned in words.   RFC 7517, RFC 9111
 */
import { within } from "../../base/deadline.ts";
import { reasonOf } from "../../base/thrown.ts";
import {
  createHttpClient,
  type HttpClient,
  readBoundedBody,
} from "../../handlers/connection-options.ts";
import { type KeySet, readKeySet } from "../../identity/bearer-keys.ts";
import { parseBoundedJson } from "../../identity/json-document.ts";

/** The keys of one fetch. */
export interface FetchedKeys {
  readonly set: KeySet;
  /** The keys of the set that were skipped, with reasons. */
  readonly ignored: readonly string[];
  /** The time until the next fetch is needed, in milliseconds. */
  readonly lifetimeMs: number;
  readonly fault?: undefined;
}

export interface JwksSource {
  /** Fetches the keys. Never rejects. */
  fetch(): Promise<FetchedKeys | { readonly fault: string }>;
  close(): Promise<void>;
}

const TIMEOUT_MS = 5_000;
const MAX_BODY_BYTES = 1_048_576;
const DEFAULT_LIFETIME_S = 600;
const LIFETIME_S = { min: 60, max: 3_600 } as const;

/** Creates the source; it connects only on `fetch`. */
export function createJwksSource({
  uri,
  ca,
}: {
  readonly uri: string;
  /** The CAs to trust instead of the system's, as PEM text. */
  readonly ca?: string;
}): JwksSource {
  const closing = new AbortController();
  const client = createHttpClient({ connections: 1, connectTimeoutMs: TIMEOUT_MS, ca });
  return {
    async fetch() {
      const ends = { signals: [closing.signal], timeoutMs: TIMEOUT_MS };
      try {
        return await within(ends, (signal) => fetchKeys(uri, client, signal));
      } catch (error) {
        return { fault: reasonOf(error) };
      }
    },
    async close() {
      closing.abort(new Error("the server is closing"));
      await client.close();
    },
  };
}

async function fetchKeys(
  uri: string,
  client: HttpClient,
  signal: AbortSignal,
): Promise<FetchedKeys | { readonly fault: string }> {
  const { statusCode, headers, body } = await client.request(uri, {
    signal,
    headers: {
      accept: "application/jwk-set+json, application/json",
      "accept-encoding": "identity",
      "user-agent": "agtpd",
    },
  });
  // Redirects are not followed, and the body of any other status is not read.
  if (statusCode !== 200) {
    body.destroy();
    return { fault: `answered with status ${statusCode}, expected 200` };
  }
  const octets = await readBoundedBody(MAX_BODY_BYTES, { body, headers });
  if (octets === undefined) return { fault: `must be at most ${MAX_BODY_BYTES} bytes long` };
  const parsed = parseBoundedJson(new TextDecoder("utf-8", { fatal: true }).decode(octets));
  if (parsed.fault !== undefined) return { fault: parsed.fault };
  const read = readKeySet(parsed.value);
  if (read.fault !== undefined) return { fault: read.fault };
  const { set, ignored } = read;
  return { set, ignored, lifetimeMs: lifetimeOf(headers["cache-control"]) };
}

/** Returns the `max-age`, bounded so that fetches are not too frequent and keys can be withdrawn. */
export function lifetimeOf(cacheControl: string | readonly string[] | undefined): number {
  const text = (typeof cacheControl === "string" ? cacheControl : cacheControl?.join(",")) ?? "";
  if (/(?:^|[\s,])no-(?:store|cache)\b/i.test(text)) return LIFETIME_S.min * 1000;
  const maxAge = /(?:^|[\s,])max-age="?(\d+)/i.exec(text)?.[1];
  const seconds = maxAge === undefined ? DEFAULT_LIFETIME_S : Number(maxAge);
  return Math.min(Math.max(seconds, LIFETIME_S.min), LIFETIME_S.max) * 1000;
}
