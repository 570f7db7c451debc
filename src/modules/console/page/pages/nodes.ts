/** Nodes: the processes that serve this deployment together. */
import type { ServerNode } from "../answers.ts";
import { useApi } from "../api.ts";
import { Badge, Moment, Stranger } from "../parts/facts.ts";
import { loaded, Page } from "../parts/page.ts";
import { type Column, Table } from "../parts/table.ts";
import { html, type VNode } from "../preact.ts";
import { millisecondsText, visible } from "../text.ts";

const COLUMNS: readonly Column<ServerNode>[] = [
  ["Node", ({ node }) => html`<${Stranger} text=${node} />`],
  ["State", ({ state }) => html`<${Badge} word=${state} />`],
  ["Address", ({ address }) => html`<${Stranger} text=${address} />`],
  ["Version", ({ version }) => visible(version)],
  ["Lease", ({ lease_ms }) => (lease_ms === 0 ? "over" : millisecondsText(lease_ms)), "optional"],
  ["Since", ({ since }) => html`<${Moment} at=${since} />`],
];

/** The page at `/nodes`. */
export function NodesPage(): VNode {
  const answer = useApi<{ readonly nodes: readonly ServerNode[] }>("/api/nodes");
  return html`<${Page} name="Nodes">
    ${loaded(
      answer,
      (data) => html`<${Table} label="Nodes" columns=${COLUMNS} rows=${data.nodes}
            keyOf=${({ node }: ServerNode) => node} empty="No node is known." />`,
    )}
  <//>`;
}
