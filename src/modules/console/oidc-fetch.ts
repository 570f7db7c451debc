/**
 * The way to an OpenID provider: verified connections, no redirects, answers that are read up to a
 * length. Plain HTTP is for providers on this machine.
 */
import { Agent, request } from "undici";
import { isLoopbackHost } from "../../base/addresses.ts";
import { readBoundedBody } from "../../handlers/bounded-body.ts";
import { connectionOptions } from "../../handlers/connection-options.ts";
import { OidcFailure } from "./oidc-failure.ts";

const MAX_ANSWER_BYTES = 262_144;
const MAX_CONNECTIONS = 8;
const CONNECT_TIMEOUT_MS = 5_000;
/** A `Response` takes no body with them. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** The request that the library makes. */
interface Asked {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** Asks, and owns the connections. */
export interface OidcFetch {
  fetch(url: string, asked: Asked): Promise<Response>;
  close(): Promise<void>;
}

/** Connects to nothing by itself; `ca` is PEM text to trust instead of the system's CAs. */
export function createOidcFetch(ca: string | undefined): OidcFetch {
  const needs = { connections: MAX_CONNECTIONS, connectTimeoutMs: CONNECT_TIMEOUT_MS, ca };
  const dispatcher = new Agent(connectionOptions(needs));
  return {
    async fetch(url, { method, headers, body, signal }) {
      checkAddress(url);
      const answer = await request(url, {
        ...{ dispatcher, method: method as "GET", signal: signal ?? null },
        headers: { ...headers, "accept-encoding": "identity", "user-agent": "agtpd" },
        ...(body === undefined || body === null ? {} : { body: String(body) }),
      });
      // A body that is given up fails once more when it ends, with nobody left to be told.
      answer.body.on("error", () => undefined);
      const octets = await readBoundedBody(MAX_ANSWER_BYTES, answer);
      if (octets === undefined) {
        throw new OidcFailure("unacceptable", `an answer is longer than ${MAX_ANSWER_BYTES} bytes`);
      }
      const { statusCode: status } = answer;
      const fields = new Headers();
      for (const [name, value] of Object.entries(answer.headers)) {
        for (const one of [value ?? []].flat()) fields.append(name, one);
      }
      const sent = WITHOUT_BODY.has(status) ? null : new Uint8Array(octets);
      return new Response(sent, { status, headers: fields });
    },
    close: () => dispatcher.destroy(),
  };
}

/** Addresses come from the provider's own document. */
function checkAddress(url: string): void {
  const { protocol, hostname } = new URL(url);
  if (protocol === "https:") return;
  if (protocol === "http:" && isLoopbackHost(hostname.replace(/^\[|\]$/g, ""))) return;
  throw new OidcFailure("unacceptable", "it names an address that is not https");
}
