/** Records: the chains of this server, and the keys that they are checked with in this browser. */
import type { Chain } from "../answers.ts";
import { LongId, Moment, Stranger } from "../parts/facts.ts";
import { Page, Pending, Section } from "../parts/page.ts";
import { Table } from "../parts/table.ts";
import { html, type VNode } from "../preact.ts";
import { KeyPanel } from "../records/key-panel.ts";
import { address } from "../router.ts";
import { useApi } from "../use-api.ts";

const COLUMNS = [
  {
    title: "Chain of",
    cell: ({ agent_id, name }: Chain) =>
      html`<a href=${address("records", agent_id)}><${Stranger} text=${name ?? agent_id} /></a>`,
  },
  { title: "Last record", cell: ({ last_at }: Chain) => html`<${Moment} at=${last_at} />` },
  {
    title: "Head",
    kind: "optional",
    cell: ({ audit_id }: Chain) => html`<${LongId} id=${audit_id} />`,
  },
];

/** The page at `/records`. */
export function RecordsPage(): VNode {
  const { data, error, reload } = useApi<{ readonly chains: readonly Chain[] }>("/api/records");
  return html`<${Page} name="Records">
    <${Section} title="Keys"><${KeyPanel} /><//>
    <${Section} title="Chains">
      ${
        data === undefined
          ? html`<${Pending} error=${error} reload=${reload} />`
          : html`<${Table} label="Chains" columns=${COLUMNS} rows=${data.chains}
              keyOf=${({ agent_id }: Chain) => agent_id} empty="No agent has a record yet. The first call of each begins its chain." />`
      }
    <//>
  <//>`;
}
