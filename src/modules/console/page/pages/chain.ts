/** One agent's chain: its records from the newest back, verified in this browser, and exported. */
import { StatusBadge } from "../parts/badge.ts";
import { AgentLink, LongId, Moment, Stranger } from "../parts/facts.ts";
import { Page, Pending, Section } from "../parts/page.ts";
import { VirtualList } from "../parts/virtual-list.ts";
import { html, useState, type VNode } from "../preact.ts";
import { KeyPanel } from "../records/key-panel.ts";
import { type ListedRecord, useChain } from "../records/use-chain.ts";
import { useKeys } from "../records/use-keys.ts";
import type { ChainReport } from "../records/verify-chain.ts";
import { VerifyPanel } from "../records/verify-panel.ts";
import { shortId } from "../text.ts";

const COLUMNS = [
  {
    title: "Issued",
    name: "c-time",
    cell: ({ issuedAt }: ListedRecord) => html`<${Moment} at=${issuedAt} />`,
  },
  {
    title: "Request",
    name: "c-request",
    cell: ({ method = "?", path = "?" }: ListedRecord) =>
      html`<${Stranger} text=${method} /> <${Stranger} text=${path} />`,
  },
  {
    title: "Status",
    name: "c-status",
    cell: ({ status }: ListedRecord) =>
      typeof status === "number" ? html`<${StatusBadge} status=${status} />` : "–",
  },
];

/** The last column: of a chain that is broken, the records behind those that held are marked. */
function auditColumn(held: number) {
  return {
    title: "Audit-ID",
    name: "c-audit",
    cell: ({ auditId, place }: ListedRecord) =>
      html`<code title=${auditId}>${shortId(auditId)}</code>${
        place >= held && html` <span class="badge bad">not verified</span>`
      }`,
  };
}

/** The page at `/records/AGENT`. */
export function ChainPage({ id }: { readonly id: string }): VNode {
  const { records, error, broken, cut, name, more, take } = useChain(id);
  const keys = useKeys();
  const [held, setHeld] = useState(Number.POSITIVE_INFINITY);
  const onReport = ({ records: count, broken: fault }: ChainReport): void =>
    setHeld(fault === undefined ? Number.POSITIVE_INFINITY : count);
  return html`<${Page} name="Records">
    <p><a href="/records">All chains</a></p>
    <h2>Chain of <${AgentLink} id=${id} name=${name} /></h2>
    ${keys.pins.length === 0 || (keys.offered?.length ?? 0) > 0 ? html`<${KeyPanel} />` : undefined}
    <${VerifyPanel} agentId=${id} keys=${keys} onPage=${take} onReport=${onReport} />
    <${Section} title="Records, the newest first">
      ${error !== undefined && html`<${Pending} error=${error} thing="chain" />`}
      ${records === undefined && error === undefined && html`<${Pending} />`}
      ${
        records !== undefined &&
        html`<${VirtualList} label="Records" columns=${[...COLUMNS, auditColumn(held)]} rows=${records} onEnd=${more} empty="The agent has no record yet." />`
      }
      ${broken !== undefined && html`<p class="warning" role="note">Here the chain breaks: record <${LongId} id=${broken.audit_id} /> is not in the journal.</p>`}
      ${cut !== undefined && html`<p role="note">Record <${LongId} id=${cut.audit_id} /> and those before it were ${cut.is_archived ? "moved to the archive" : "deleted"}, with the segments through ${cut.through}.</p>`}
    <//>
  <//>`;
}
