/** Agents: everyone this server knows, with standing and the time of the latest record. */
import type { Agent } from "../answers.ts";
import { Badge } from "../parts/badge.ts";
import { AgentLink, Moment, Stranger } from "../parts/facts.ts";
import { Page, Pending } from "../parts/page.ts";
import { Table } from "../parts/table.ts";
import { html, type VNode } from "../preact.ts";
import { countText, visible } from "../text.ts";
import { useApi } from "../use-api.ts";

const COLUMNS = [
  {
    title: "Agent",
    cell: ({ agent_id, name }: Agent) => html`<${AgentLink} id=${agent_id} name=${name} />`,
  },
  { title: "Status", cell: ({ status }: Agent) => html`<${Badge} word=${status} />` },
  { title: "Trust tier", kind: "number", cell: ({ trust_tier }: Agent) => visible(trust_tier) },
  {
    title: "Verified by",
    kind: "optional",
    cell: ({ verification_path }: Agent) =>
      verification_path === null ? "–" : html`<${Stranger} text=${verification_path} />`,
  },
  {
    title: "Scopes",
    kind: "number",
    cell: ({ scopes }: Agent) =>
      html`<span title=${visible(scopes.join(" "))}>${countText(scopes.length)}</span>`,
  },
  {
    title: "Last record",
    cell: ({ last_at }: Agent) => html`<${Moment} at=${last_at} />`,
  },
];

/** The page at `/agents`. */
export function AgentsPage(): VNode {
  const { data, error, reload } = useApi<{ readonly agents: readonly Agent[] }>("/api/agents");
  return html`<${Page} name="Agents">
    ${
      data === undefined
        ? html`<${Pending} error=${error} reload=${reload} />`
        : html`<${Table} label="Agents" columns=${COLUMNS} rows=${data.agents}
            keyOf=${({ agent_id }: Agent) => agent_id} empty="This server has no agents. Their identity documents are files under agents/, read at the start and by agtpd reload." />`
    }
  <//>`;
}
