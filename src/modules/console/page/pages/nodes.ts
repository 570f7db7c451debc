/** Nodes: the processes that serve this deployment together. */
import type { ServerNode } from "../answers.ts";
import { Badge } from "../parts/badge.ts";
import { Moment, Stranger } from "../parts/facts.ts";
import { Page, Pending } from "../parts/page.ts";
import { Table } from "../parts/table.ts";
import { html, type VNode } from "../preact.ts";
import { millisecondsText, visible } from "../text.ts";
import { useApi } from "../use-api.ts";

const COLUMNS = [
  { title: "Node", cell: ({ node }: ServerNode) => html`<${Stranger} text=${node} />` },
  { title: "State", cell: ({ state }: ServerNode) => html`<${Badge} word=${state} />` },
  { title: "Address", cell: ({ address }: ServerNode) => html`<${Stranger} text=${address} />` },
  { title: "Version", cell: ({ version }: ServerNode) => visible(version) },
  {
    title: "Lease",
    kind: "optional",
    cell: ({ lease_ms }: ServerNode) => (lease_ms === 0 ? "over" : millisecondsText(lease_ms)),
  },
  { title: "Since", cell: ({ since }: ServerNode) => html`<${Moment} at=${since} />` },
];

/** The page at `/nodes`. */
export function NodesPage(): VNode {
  const { data, error, reload } = useApi<{ readonly nodes: readonly ServerNode[] }>("/api/nodes");
  return html`<${Page} name="Nodes">
    ${
      data === undefined
        ? html`<${Pending} error=${error} reload=${reload} />`
        : html`<${Table} label="Nodes" columns=${COLUMNS} rows=${data.nodes}
            keyOf=${({ node }: ServerNode) => node} empty="No node is known." />`
    }
  <//>`;
}
