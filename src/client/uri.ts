/**
 * The URI forms of AGTP. A URI names a server, and may name an agent or a path; the method is the caller's choice.
 * AGTP "URI Scheme"
 */
import { clip } from "../base/json-value.ts";
import { isAgentId } from "../identity/identifiers.ts";
import { AgtpClientError } from "./client-error.ts";

/** A URI's target: a server (Forms 2 and 2a), an agent by id (1a) or by name (3 and 4). */
export interface AgtpUri {
  readonly host: string;
  readonly port: number;
  /** Form 1a: the canonical Agent-ID; the host only says where to send the request. */
  readonly agentId?: string;
  /** Forms 3 and 4: the name under `/agents/`. */
  readonly agentName?: string;
  /** As written, raw; undefined if the URI has no path or only "/". */
  readonly path?: string;
  /** As written, without the "?". */
  readonly query?: string;
}

/** The default port.   AGTP "IANA Considerations" */
export const AGTP_PORT = 4480;

/** The parts of a URI as written, unchecked. */
export interface UriParts {
  readonly userinfo?: string;
  /** An IPv6 address has its brackets. */
  readonly host: string;
  /** Undefined if no port is written; NaN if it is invalid. */
  readonly port: number | undefined;
  readonly path: string;
  /** Without the "?". */
  readonly query?: string;
}

/** Splits text without "#" in linear time: each part ends at a delimiter that it excludes. */
const URI =
  /^agtp:\/\/(?:([^@/?]*)@)?(\[[^\]/?@]*\]|[^:/?@[\]]*)(?::([^/?@]*))?([^?]*)(?:\?([\s\S]*))?$/i;
const HOST_NAME = /^[a-z0-9_](?:[a-z0-9._-]{0,251}[a-z0-9_.])?$/i;
const IPV6 = /^\[[0-9a-f:.]{2,45}\]$/i;
const AGENT_PATH = /^\/agents\/([A-Za-z0-9_-]+)$/;
const NO_PARTS: UriParts = { host: "", port: undefined, path: "" };

/** Splits a URI; undefined if the text is no AGTP URI, or has a fragment. */
export function splitUri(text: string): UriParts | undefined {
  const parts = text.includes("#") ? null : URI.exec(text);
  if (parts === null) return undefined;
  const [, userinfo, host = "", port, path = "", query] = parts;
  return {
    ...(userinfo === undefined ? {} : { userinfo }),
    ...{ host, port: port === undefined ? undefined : numberOfPort(port), path },
    ...(query === undefined ? {} : { query }),
  };
}

function numberOfPort(written: string): number {
  const port = Number(written);
  return /^[0-9]{1,5}$/.test(written) && port > 0 && port < 65_536 ? port : Number.NaN;
}

/** Parses a URI; throws ERR_AGTP_URI with the reason. */
export function parseUri(text: string): AgtpUri {
  if (!/^agtp:\/\//i.test(text)) throw invalid(text, 'expected it to begin with "agtp://"');
  if (text.includes("#")) throw invalid(text, "a fragment may not be sent");
  const { userinfo, host: authority, port, path, query } = splitUri(text) ?? NO_PARTS;
  if (isAgentId(authority) && userinfo === undefined) {
    throw invalid(text, "it names an agent but no server: a host is needed, agtp://AGENT_ID@HOST");
  }
  if (userinfo !== undefined && !isAgentId(userinfo)) {
    throw invalid(text, "expected 64 lower-case hexadecimal digits before the @");
  }
  const agentName = AGENT_PATH.exec(path)?.[1];
  return {
    host: readHost(text, authority),
    port: readPort(text, port),
    ...(userinfo === undefined ? {} : { agentId: userinfo }),
    ...(agentName === undefined ? {} : { agentName }),
    ...(path === "" || path === "/" ? {} : { path }),
    ...(query === undefined ? {} : { query }),
  };
}

function readHost(text: string, authority: string): string {
  if (IPV6.test(authority)) return authority.slice(1, -1);
  if (HOST_NAME.test(authority)) return authority;
  throw invalid(text, "expected a host name or address");
}

function readPort(text: string, port: number = AGTP_PORT): number {
  if (Number.isNaN(port)) throw invalid(text, "expected a port from 1 to 65535");
  return port;
}

function invalid(text: string, reason: string): AgtpClientError {
  const shown = JSON.stringify(clip(text, 100));
  return new AgtpClientError("ERR_AGTP_URI", `${shown} is not a usable AGTP URI: ${reason}`);
}
