/**
 * What SUMMARIZE may read: the operator's endpoints and what the protocol itself reads, under the
 * names that this server goes by. A pair counts as what aliases and redirects make of it. One that
 * is registered nowhere counts as nothing, though a contract of the caller's may answer it: what a
 * contract does is not written under its pair.   AGTP "SUMMARIZE"
 */

import { impactOf } from "../dispatch/floor.ts";
import { createRegistry, type EndpointRegistry } from "../endpoint/endpoint-registry.ts";
import type { ListedEndpoint } from "../modules/discovery/inventory.ts";
import type { RegisteredPair, SourcePlaces } from "../modules/search/summary-sources.ts";
import { canonicalPair, isProtocolPair } from "../server/pairs.ts";
import type { FloorParts } from "./protocol-parts.ts";

/** What reads itself, and would do so without end. */
const NO_SOURCES: readonly string[] = ["SUMMARIZE", "PLAN"];
const LOOPBACK: readonly string[] = ["localhost", "127.0.0.1", "::1"];

interface Entry extends ListedEndpoint {
  readonly method: string;
  readonly path: string;
}

/** Looks the places up when they are first asked for: by then all endpoints are known. */
export function createSourcePlaces(parts: FloorParts): SourcePlaces {
  const { config, inventory, methodPolicy } = parts;
  let registry: EndpointRegistry<Entry> | undefined;
  const places = (): EndpointRegistry<Entry> => {
    registry ??= createRegistry(
      inventory.endpoints().map((listed): Entry => {
        const { method, path } = listed.definition;
        return { ...listed, method, path };
      }),
    ).registry;
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

function ofEndpoint({ tier, definition }: Entry): RegisteredPair {
  return { impact: definition.semantic.impact, isFloor: tier === "A" };
}

/** The methods of agents' own paths read like the floor's. */
function ofProtocol(method: string, path: string): RegisteredPair | undefined {
  if (!isProtocolPair(method, path) || NO_SOURCES.includes(method)) return undefined;
  return { impact: method === "FETCH" ? "informational" : impactOf(method), isFloor: true };
}

function isNamed(
  { serverId, domain, host }: FloorParts["config"]["server"],
  asked: string,
): boolean {
  const names = [serverId, domain, host].map((name) => name?.toLowerCase());
  const isLocal = LOOPBACK.includes(host) && LOOPBACK.includes(asked);
  return isLocal || names.includes(asked);
}

/** A server on any free port is not known by its number. */
function isPort(own: number, asked: string | undefined): boolean {
  return asked === undefined || own === 0 || Number(asked) === own;
}
