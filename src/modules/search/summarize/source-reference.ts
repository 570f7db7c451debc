/**
 * A source of SUMMARIZE: inline content, or a name that this server can read with the caller's own permissions. Any
 * other URI is refused, since fetching a stranger's URLs would allow attacks on other servers (SSRF). Readable are the
 * operator's endpoints and the protocol's own reading methods.   AGTP "SUMMARIZE"
 */
import { isRecord, type JsonRecord, quoteValue } from "../../../base/json-value.ts";
import { splitUri, type UriParts } from "../../../client/uri.ts";
import { canonicalPair } from "../../../dispatch/policy/method-policy.ts";
import { impactOf, isProtocolPair } from "../../../dispatch/routes/floor.ts";
import type { RegisteredRoute } from "../../../dispatch/routes/route.ts";
import type { Impact } from "../../../endpoint/endpoint.ts";
import { createRegistry, type EndpointRegistry } from "../../../endpoint/endpoint-registry.ts";
import { isAgentId } from "../../../identity/identifiers.ts";
import { type IsOwnAddress, ownAddress } from "../../../identity/own-address.ts";
import { splitTarget } from "../../../wire/message.ts";
import type { SearchContext } from "../config.ts";

/** A source that a dispatch reads. */
export interface SourceReference {
  readonly kind: "reference";
  /** Undefined if only the path was named. */
  readonly method: string | undefined;
  readonly path: string;
  /** Without the "?". */
  readonly query: string | undefined;
  readonly input: JsonRecord;
}

/** A classified source. */
export type NamedSource =
  | { readonly kind: "inline"; readonly content: unknown }
  | SourceReference
  | { readonly kind: "refused"; readonly message: string };

const AGTP = /^agtp:\S*$/i;
const OTHER_URI = /^([a-z][a-z0-9+.-]*:)\/\/\S*$/i;
const OTHER_URI_WITHOUT_HOST = /^((?:file|data|blob|javascript|urn):)\S+$/i;
const PAIR = /^([A-Za-z][A-Za-z-]{1,63}) (\/\S*)$/;
const PATH = /^\/\S*$/;
const ENDPOINT_MEMBERS = ["method", "path", "parameters", "input"];
const URI_MEMBERS = ["uri", "url", "href", "ref", "reference"];

/** Classifies one source. */
export function readSourceName(source: unknown, isHere: IsOwnAddress): NamedSource {
  if (typeof source === "string") return readText(source, isHere);
  if (!isRecord(source)) return { kind: "inline", content: source };
  const names = Object.keys(source);
  const [name = "", ...others] = names;
  if (others.length === 0 && URI_MEMBERS.includes(name)) return readUri(source[name], isHere);
  const isEndpoint =
    typeof source["path"] === "string" && names.every((one) => ENDPOINT_MEMBERS.includes(one));
  return isEndpoint ? readEndpoint(source) : { kind: "inline", content: source };
}

/** A text that consists of a name is a reference; one that only begins with a URI is content. */
function readText(source: string, isHere: IsOwnAddress): NamedSource {
  const text = source.trim();
  if (AGTP.test(text)) return readAgtpUri(text, isHere);
  const [, scheme] = OTHER_URI.exec(text) ?? OTHER_URI_WITHOUT_HOST.exec(text) ?? [];
  if (scheme !== undefined) return refused(scheme);
  const [, method, pairPath] = PAIR.exec(text) ?? [];
  const path = pairPath ?? (PATH.test(text) ? text : undefined);
  return path === undefined ? { kind: "inline", content: source } : atPath(method, path);
}

function readUri(value: unknown, isHere: IsOwnAddress): NamedSource {
  const named = typeof value === "string" ? readText(value, isHere) : undefined;
  if (named !== undefined && named.kind !== "inline") return named;
  const expected = 'expected an "agtp:" URI, a path, or a method and a path';
  return { kind: "refused", message: `${quoteValue(value)} names no source: ${expected}` };
}

function readEndpoint({ method, path, parameters, input = parameters }: JsonRecord): NamedSource {
  if (method !== undefined && typeof method !== "string") {
    return { kind: "refused", message: `the method of a source is ${quoteValue(method)}` };
  }
  if (input !== undefined && !isRecord(input)) {
    const message = `the input of a source is ${quoteValue(input)}, expected an object`;
    return { kind: "refused", message };
  }
  return { ...atPath(method, String(path)), input: input ?? {} };
}

function atPath(method: string | undefined, target: string): SourceReference {
  return { kind: "reference", method, ...splitTarget(target), input: {} };
}

/** Splits a URI; `agtp:/path` has no server, and means this one. */
function partsOf(uri: string): UriParts | undefined {
  return splitUri(uri.replace(/^agtp:(?!\/\/)(?=[/?]|$)/i, "agtp://"));
}

function readAgtpUri(uri: string, isHere: IsOwnAddress): NamedSource {
  const parts = partsOf(uri);
  if (parts === undefined) {
    return { kind: "refused", message: `${quoteValue(uri)} is no "agtp:" URI` };
  }
  const { userinfo, host: authority, port, path, query } = parts;
  const named = userinfo ?? (isAgentId(authority) ? authority : undefined);
  const host = named === authority ? "" : authority;
  if (host !== "" && !isHere(host, port)) {
    const message = `${quoteValue(uri)} is on another server: only sources on this one are read`;
    return { kind: "refused", message };
  }
  if (named !== undefined && !isAgentId(named)) {
    return { kind: "refused", message: `${quoteValue(named)} is no Agent-ID` };
  }
  const root = named === undefined ? "/" : `/agents/${named}`;
  const isRoot = path === "" || path === "/";
  return { kind: "reference", method: undefined, path: isRoot ? root : path, query, input: {} };
}

function refused(scheme: string): NamedSource {
  const what = `sources at ${quoteValue(scheme.toLowerCase())} are never fetched`;
  return { kind: "refused", message: `${what}: send the content itself` };
}

/** Methods that would read themselves endlessly. */
const NO_SOURCES: readonly string[] = ["SUMMARIZE", "PLAN"];

/** The endpoint registered for a pair. */
interface RegisteredPair {
  /** The strongest impact that a call may have. */
  readonly impact: Impact;
  /** True if the endpoint answers `{status, result}`. */
  readonly isFloor: boolean;
}

export interface SourcePlaces {
  readonly isHere: IsOwnAddress;
  /** The pair that a dispatch is routed to, with aliases and redirects, but without contracts. */
  registered(method: string, path: string): RegisteredPair | undefined;
  /** The methods that are registered for a path. */
  methodsFor(path: string): readonly string[];
}

/** Builds the registry at the first use, when every endpoint is known. */
export function createSourcePlaces({
  config,
  methodPolicy,
  deployment,
}: Pick<SearchContext, "config" | "methodPolicy" | "deployment">): SourcePlaces {
  let registry: EndpointRegistry<RegisteredRoute> | undefined;
  const places = (): EndpointRegistry<RegisteredRoute> => {
    registry ??= createRegistry(deployment().listed).registry;
    return registry;
  };
  return {
    isHere: ownAddress(config.server),
    registered: (method, path) => {
      const pair = canonicalPair(methodPolicy, { method, path });
      const found = places().find(pair.method, pair.path)?.entry;
      return found === undefined ? ofProtocol(pair.method, pair.path) : ofEndpoint(found);
    },
    methodsFor: (path) => places().methodsFor(path),
  };
}

function ofEndpoint({ tier, definition }: RegisteredRoute): RegisteredPair {
  return { impact: definition.semantic.impact, isFloor: tier === "A" };
}

/** Returns a method of the protocol; those on agents' own paths read like floor methods. */
function ofProtocol(method: string, path: string): RegisteredPair | undefined {
  if (!isProtocolPair(method, path) || NO_SOURCES.includes(method)) return undefined;
  return { impact: method === "FETCH" ? "informational" : impactOf(method), isFloor: true };
}
