/**
 * The places that SUMMARIZE may read: the operator's endpoints and what the protocol itself reads,
 * under the names that this server goes by. A pair counts as what aliases and redirects make of it.
 * One that is registered nowhere counts as nothing, though a contract of the caller's may answer
 * it: what a contract does is not written under its pair.   AGTP "SUMMARIZE"
 */

import { impactOf } from "../../dispatch/routes/floor.ts";
import { canonicalPair, isProtocolPair } from "../../dispatch/routes/pairs.ts";
import type { RegisteredRoute } from "../../dispatch/routes/route.ts";
import { createRegistry, type EndpointRegistry } from "../../endpoint/endpoint-registry.ts";
import type { ServerConfig } from "../../identity/identity-sections.ts";
import type { SearchContext } from "./config.ts";
import type { RegisteredPair, SourcePlaces } from "./summarize/summary-sources.ts";

/** Methods that would read themselves without end. */
const NO_SOURCES: readonly string[] = ["SUMMARIZE", "PLAN"];
const LOOPBACK: readonly string[] = ["localhost", "127.0.0.1", "::1"];

/** Looks the places up when they are first asked for: by then all endpoints are known. */
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
    isHere: (host, port) => isNamed(config.server, host) && isPort(config.server.port, port),
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

/** The methods of agents' own paths read like the floor's. */
function ofProtocol(method: string, path: string): RegisteredPair | undefined {
  if (!isProtocolPair(method, path) || NO_SOURCES.includes(method)) return undefined;
  return { impact: method === "FETCH" ? "informational" : impactOf(method), isFloor: true };
}

function isNamed({ serverId, domain, host }: ServerConfig, asked: string): boolean {
  const names = [serverId, domain, host].map((name) => name?.toLowerCase());
  const isLocal = LOOPBACK.includes(host) && LOOPBACK.includes(asked);
  return isLocal || names.includes(asked);
}

/** A server on any free port is not known by its number. */
function isPort(own: number, asked: string | undefined): boolean {
  return asked === undefined || own === 0 || Number(asked) === own;
}
