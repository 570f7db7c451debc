/** What AGTP callers see of OpenWOP agents beside the endpoints of each: the inventory. */

import { isDisclosedTo } from "../modules/discovery/inventory.ts";
import { inventoryEndpoints } from "../modules/openwop/inventory-endpoints.ts";
import type { FloorPart, FloorParts } from "./protocol-parts.ts";

/** The part. */
export function openwopPart({ openwop, inventory: disclosure, directory }: FloorParts): FloorPart {
  const { registry, inventory, starter, maxWaitMs, documentOf, settings, redactor } = openwop;
  const { tenant } = settings;
  const byAgtpId = new Map(
    registry.list(tenant).flatMap((agent) => {
      const document = documentOf(agent);
      return document === undefined ? [] : [[document.agentId, agent] as const];
    }),
  );
  return {
    endpoints: inventoryEndpoints({
      ...{ inventory, starter, tenant, maxWaitMs, redactor },
      isListed: registry.list(tenant).length > 0,
      resolve: (name) =>
        registry.find(name, tenant) ?? byAgtpId.get(directory.resolve(name)?.agentId ?? ""),
      isDisclosedTo: (agentId) => isDisclosedTo(disclosure, agentId),
    }),
  };
}
