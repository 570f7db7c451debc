/**
 * DISCOVER /methods: the compact inventory of every registered endpoint, and of those that the
 * calling agent negotiated to stay.   AGTP-API §5.8, §10.8
 */
import { LRUCache } from "lru-cache";
import { Latest } from "../../base/latest.ts";
import { mapPaced } from "../../base/paced.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import { arrayOf, type Builtin } from "./builtin.ts";
import type { Inventory, ListedEndpoint } from "./inventory.ts";
import { type Listed, Listing, sharing } from "./listing.ts";
import { persistentEndpoints } from "./persistent-endpoints.ts";

/** Agents whose own lists are at hand; the others have theirs made again. */
const REMEMBERED = 8;

/** A bare array of `{method, path, description, tier}`. */
export function methodsBuiltin(inventory: Inventory): Builtin {
  const methods = new Listing(() => mapPaced(inventory.endpoints(), methodEntry), inventory.drive);
  const extended = new LRUCache<string, Latest<Listed>>({ max: REMEMBERED });
  /** Shared as well: an agent may ask for its list as often as it likes. */
  const extend = (all: Listed, own: Listed): Latest<Listed> => {
    const key = JSON.stringify(own);
    const made =
      extended.get(key) ??
      new Latest(async () => inventory.drive(sharing(mapPaced([...all, ...own], (one) => one))));
    extended.set(key, made);
    return made;
  };
  return {
    name: "methods",
    description: "Lists all registered endpoints on this server.",
    outputSchema: arrayOf(["method", "path", "description", "tier"]),
    prepare: () => methods.prepare(),
    handler: ({ agentId }) => {
      const own = persistentEndpoints(inventory, agentId);
      if (own.length === 0) return methods.answer();
      const entries = own.map((one) => entryOf(one, "C"));
      return methods.answer(async (all) => ({ body: await extend(all, entries).get() }));
    },
  };
}

function methodEntry({ tier, definition }: ListedEndpoint): object {
  return entryOf(definition, tier);
}

function entryOf(
  { method, path, description }: EndpointDefinition,
  tier: ListedEndpoint["tier"] | "C",
): object {
  return { method, path, description, tier };
}
