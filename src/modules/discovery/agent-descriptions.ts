/**
 * The source of DESCRIBE and of the agents' own paths: the directory, the live standing of agents,
 * the methods that are served, and the inventory of another system's agents.
 * AGTP "DESCRIBE", "URI Resolution"
 */

import { filterPaced, type Paced } from "../../base/paced.ts";
import { FLOOR_METHODS } from "../../catalog/catalog.ts";
import { type Disclosure, isDisclosedTo } from "../../dispatch/caller/disclosure.ts";
import { describeBy } from "../../dispatch/routes/floor.ts";
import { listingMethods } from "../../dispatch/routes/supported-methods.ts";
import type { DiscoveryContext } from "./config.ts";
import { createDescription, type Description } from "./describe.ts";

/** The description of this server's agents. */
export async function describeAgents(
  context: DiscoveryContext,
  disclosure: Disclosure,
): Promise<Description> {
  const { config, directory, inventory, drive } = context;
  const { ledger, lifecycle } = context.state;
  const { server, agents } = config;
  return createDescription(
    {
      ...{ directory, server, methods: await drive(filteringServed(context)) },
      defaultAgent: agents.default === undefined ? undefined : directory.resolve(agents.default),
      isDisclosedTo: (agentId) => isDisclosedTo(disclosure, agentId),
      standing: {
        statusOf: (agent) => lifecycle.statusOf(agent),
        statusSince: (agent) => lifecycle.statusSince(agent),
        lastAction: (agentId) => ledger.currentHeadOf(agentId),
      },
      findEntry: (name, callerId) => inventory?.find(name, callerId),
      listsEntries: inventory?.isEmpty === false,
      toolsOf: (agent) => inventory?.toolsOf(agent) ?? [],
    },
    describeBy(context.catalog),
  );
}

/** The operator's endpoints and the floor, of which this module answers two methods itself. */
function* filteringServed({ routes, methodPolicy }: DiscoveryContext): Paced<readonly string[]> {
  const floor: ReadonlySet<string> = new Set(FLOOR_METHODS);
  const shown = yield* filterPaced(
    routes,
    ({ tier, method, path }) => tier === "B" || (path === "/" && floor.has(method)),
  );
  const own = ["DESCRIBE", "DISCOVER"].map((method) => ({ method, path: "/" }));
  return yield* listingMethods([...shown, ...own], methodPolicy);
}
