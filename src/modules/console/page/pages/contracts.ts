/** Contracts: those that agents negotiated at run time, and their withdrawal. */

import type { Contract } from "../answers.ts";
import { post } from "../api.ts";
import { Badge } from "../parts/badge.ts";
import { Change } from "../parts/change.ts";
import { AgentLink, Moment, Stranger } from "../parts/facts.ts";
import { Page, Pending } from "../parts/page.ts";
import { Table } from "../parts/table.ts";
import { html, type VNode } from "../preact.ts";
import { address } from "../router.ts";
import { isOperator } from "../session.ts";
import { shortId, visible } from "../text.ts";
import { useApi } from "../use-api.ts";

const COLUMNS = [
  {
    title: "Contract",
    cell: ({ synthesis_id }: Contract) =>
      html`<code title=${visible(synthesis_id)}>${shortId(synthesis_id)}</code>`,
  },
  {
    title: "Serves",
    cell: ({ method, path }: Contract) =>
      html`<${Stranger} text=${method} /> <${Stranger} text=${path} />`,
  },
  {
    title: "Does",
    kind: "optional",
    cell: ({ description }: Contract) => html`<${Stranger} text=${description} />`,
  },
  { title: "Agent", cell: ({ agent_id }: Contract) => html`<${AgentLink} id=${agent_id} />` },
  { title: "Status", cell: ({ status }: Contract) => html`<${Badge} word=${status} />` },
  {
    title: "Made",
    kind: "optional",
    cell: ({ created_at }: Contract) => html`<${Moment} at=${created_at} />`,
  },
  {
    title: "Ends",
    cell: ({ expires_at }: Contract) => html`<${Moment} at=${expires_at} />`,
  },
];

/** Contracts that nothing can end any more. */
const OVER: ReadonlySet<string> = new Set(["withdrawn", "revoked", "expired", "superseded"]);

/** The page at `/contracts`. */
export function ContractsPage(): VNode {
  const { data, error, reload } = useApi<{ readonly contracts: readonly Contract[] }>(
    "/api/contracts",
  );
  const withdrawal = {
    title: "Change",
    cell: (contract: Contract) => html`<${Withdraw} contract=${contract} reload=${reload} />`,
  };
  return html`<${Page} name="Contracts">
    ${
      data === undefined
        ? html`<${Pending} error=${error} reload=${reload} />`
        : html`<${Table} label="Contracts" columns=${isOperator() ? [...COLUMNS, withdrawal] : COLUMNS}
            rows=${data.contracts} keyOf=${({ synthesis_id }: Contract) => synthesis_id}
            empty="No agent has negotiated a contract. With enabled = true under [policies.rcns], agents propose what the recipes under recipes/ allow." />`
    }
  <//>`;
}

function Withdraw(props: { readonly contract: Contract; readonly reload: () => void }): VNode {
  const { contract, reload } = props;
  const { synthesis_id, status } = contract;
  if (OVER.has(status)) return html`<span>–</span>`;
  const action = {
    name: "Withdraw",
    run: (reason: string) =>
      post(`/api${address("contracts", synthesis_id)}`, { action: "withdraw", reason }),
    done: "The contract is withdrawn.",
    confirm: "Withdraw the contract? Calls under it are refused from now on.",
    tone: "bad",
  };
  return html`<${Change} id=${synthesis_id} actions=${[action]} onDone=${reload} />`;
}
