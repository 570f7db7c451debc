/** Endpoints: what this server serves, and what each of them wants of a caller. */
import type { Endpoint } from "../answers.ts";
import { Badge } from "../parts/badge.ts";
import { Stranger } from "../parts/facts.ts";
import { Page, Pending } from "../parts/page.ts";
import { Table } from "../parts/table.ts";
import { html, type VNode } from "../preact.ts";
import { visible } from "../text.ts";
import { useApi } from "../use-api.ts";

const COLUMNS = [
  {
    title: "Endpoint",
    cell: ({ method, path, deprecated }: Endpoint) =>
      html`<a href=${endpointAddress(method, path)}><${Stranger} text=${method} /> <${Stranger} text=${path} /></a>
        ${deprecated && html` <${Badge} word="deprecated" />`}`,
  },
  {
    title: "Does",
    cell: ({ description }: Endpoint) => html`<${Stranger} text=${description} />`,
  },
  { title: "Impact", cell: ({ impact }: Endpoint) => visible(impact ?? "–") },
  {
    title: "Scopes",
    kind: "optional",
    cell: ({ required_scopes }: Endpoint) =>
      required_scopes.length === 0
        ? "–"
        : required_scopes.map(
            (scope) => html`<code key=${scope} class="line">${visible(scope)}</code>`,
          ),
  },
  { title: "Approval", cell: ({ approval }: Endpoint) => visible(approval ?? "–") },
];

/** The page at `/endpoints`. */
export function EndpointsPage(): VNode {
  const { data, error, reload } = useApi<{ readonly endpoints: readonly Endpoint[] }>(
    "/api/endpoints",
  );
  return html`<${Page} name="Endpoints">
    ${
      data === undefined
        ? html`<${Pending} error=${error} reload=${reload} />`
        : html`<${Table} label="Endpoints" columns=${COLUMNS} rows=${data.endpoints}
            keyOf=${({ method, path }: Endpoint) => `${method} ${path}`} empty="This server has no endpoints. They are files under endpoints/; agtp-openapi import and agtp-mcp import write some." />`
    }
  <//>`;
}

/** The page of one endpoint; its path goes on behind the method. */
function endpointAddress(method: string, path: string): string {
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  return `/endpoints/${encodeURIComponent(method)}${encoded}`;
}
