/**
 * The endpoints that an agent negotiated to stay. They are in the inventory and in the manifest that
 * this agent retrieves, and in nobody else's.   AGTP-API §5.8.7, §10.8
 */

import { contractDefinition } from "../../endpoint/contract.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import type { Inventory } from "./inventory.ts";

/** Of JSON; what an agent negotiates beyond it is in DISCOVER /contracts alone. */
const MOST_CHARACTERS = 256 * 1024;

/** Each pair once, as it is answered now: the newest contract, where nothing is registered. */
export function persistentEndpoints(
  inventory: Pick<Inventory, "contracts" | "isListed">,
  agentId: string | undefined,
): readonly EndpointDefinition[] {
  if (agentId === undefined) return [];
  const active = inventory.contracts.active(agentId);
  if (!active.some(({ isPersistent }) => isPersistent)) return [];
  const taken = new Set<string>();
  const persistent: EndpointDefinition[] = [];
  let characters = 0;
  for (const { endpoint, isPersistent } of active) {
    const { method, path } = endpoint;
    const pair = `${method} ${path}`;
    if (taken.has(pair) || inventory.isListed(method, path)) continue;
    taken.add(pair);
    if (!isPersistent) continue;
    characters += JSON.stringify(endpoint).length;
    if (characters > MOST_CHARACTERS) break;
    persistent.push(contractDefinition(endpoint));
  }
  return persistent;
}
