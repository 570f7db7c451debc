/** An HTTP API that the server fronts, as something that can be found.   AGTP-API §5.8.5, §8.6 */
import type { ApiEntry } from "../../dispatch/listing-sections.ts";
import type { SearchEntry } from "./entry.ts";

/** The entry of an API. */
export function apiEntry(api: ApiEntry): SearchEntry {
  const { name, description = "", base_url: baseUrl = "" } = api;
  return {
    kind: "api",
    id: name,
    texts: { name, description, details: baseUrl, tags: "api http" },
    facets: {},
    prominence: 0.5,
    isVisibleTo: () => true,
    show: (_asker, format) => (format === "natural" ? inWords(name, description, baseUrl) : api),
  };
}

function inWords(name: string, description: string, baseUrl: string): string {
  return [`HTTP API ${name}`, description, baseUrl].filter((part) => part !== "").join(": ");
}
