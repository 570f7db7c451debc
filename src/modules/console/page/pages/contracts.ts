/** Contracts: those that agents negotiated at run time, and their withdrawal. */

import type { Contract } from "../answers.ts";
import { isOperator, post, useApi } from "../api.ts";
import { Change } from "../parts/change.ts";
import { AgentLink, Badge, Moment, Stranger } from "../parts/facts.ts";
import { loaded, Page } from "../parts/page.ts";
import { type Column, Table } from "../parts/table.ts";
import { html, type VNode } from "../preact.ts";
import { address } from "../router.ts";
import { shortId, visible } from "../text.ts";

const COLUMNS: readonly Column<Contract>[] = [
  [
    "Contract",
    ({ synthesis_id }) =>
      html`<code title=${visible(synthesis_id)}>${shortId(synthesis_id)}</code>`,
  ],
  [
    "Serves",
    ({ method, path }) => html`<${Stranger} text=${method} /> <${Stranger} text=${path} />`,
  ],
  ["Does", ({ description }) => html`<${Stranger} text=${description} />`, "optional"],
  ["Agent", ({ agent_id }) => html`<${AgentLink} id=${agent_id} />`],
  ["Status", ({ status }) => html`<${Badge} word=${status} />`],
  ["Made", ({ created_at }) => html`<${Moment} at=${created_at} />`, "optional"],
  ["Ends", ({ expires_at }) => html`<${Moment} at=${expires_at} />`],
];

/** Contracts that nothing can end any more. */
const OVER: ReadonlySet<string> = new Set(["withdrawn", "revoked", "expired", "superseded"]);

/** The page at `/contracts`. */
export function ContractsPage(): VNode {
  const answer = useApi<{ readonly contracts: readonly Contract[] }>("/api/contracts");
  const withdrawal: Column<Contract> = [
    "Change",
    (contract) => html`<${Withdraw} contract=${contract} reload=${answer.reload} />`,
  ];
  return html`<${Page} name="Contracts">
    ${loaded(
      answer,
      (
        data,
      ) => html`<${Table} label="Contracts" columns=${isOperator() ? [...COLUMNS, withdrawal] : COLUMNS}
            rows=${data.contracts} keyOf=${({ synthesis_id }: Contract) => synthesis_id}
            empty="No agent has negotiated a contract. With enabled = true under [policies.rcns], agents propose what the recipes under recipes/ allow." />`,
    )}
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
