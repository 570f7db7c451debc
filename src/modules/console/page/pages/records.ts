/** Records: the server's chains, and the keys that verify them in this browser. */
import type { Chain } from "../../answers.ts";
import { useApi } from "../api.ts";
import { AgentLink, LongId, Moment, StatusBadge, Stranger } from "../parts/facts.ts";
import { loaded, Page, Pending, Section } from "../parts/page.ts";
import { type Column, type ListColumn, Table, VirtualList } from "../parts/table.ts";
import { html, useState, type VNode } from "../preact.ts";
import { KeyPanel, useKeys } from "../records/keys.ts";
import { type ListedRecord, useChain } from "../records/use-chain.ts";
import type { ChainReport } from "../records/verify-chain.ts";
import { VerifyPanel } from "../records/verify-panel.ts";
import { address } from "../router.ts";
import { countText, shortId, visible } from "../text.ts";

const COLUMNS: readonly Column<Chain>[] = [
  [
    "Chain of",
    ({ agent_id, name }) =>
      html`<a href=${address("records", agent_id)}><${Stranger} text=${name ?? agent_id} /></a>`,
  ],
  ["Last record", ({ last_at }) => html`<${Moment} at=${last_at} />`],
  ["Head", ({ audit_id }) => html`<${LongId} id=${audit_id} />`, "optional"],
];

/** The page at `/records`. */
export function RecordsPage(): VNode {
  const keys = useKeys();
  const answer = useApi<{ readonly chains: readonly Chain[] }>("/api/records");
  return html`<${Page} name="Records">
    <${Section} title="Keys"><${KeyPanel} keys=${keys} /><//>
    <${Section} title="Chains">
      ${loaded(
        answer,
        (data) => html`<${Table} label="Chains" columns=${COLUMNS} rows=${data.chains}
              keyOf=${({ agent_id }: Chain) => agent_id} empty="No agent has a record yet. The first call of each begins its chain." />`,
      )}
    <//>
  <//>`;
}

/** Gaps named above the list, which contains every gap. */
const MOST_TOLD = 5;

/** The columns; in a broken chain, records after the `held` valid ones are marked. */
const columnsOf = (held: number): readonly ListColumn<ListedRecord>[] => [
  ["Issued", "c-time", ({ issuedAt }) => html`<${Moment} at=${issuedAt} isShort />`],
  [
    "Request",
    "c-request",
    ({ method = "?", path = "?", place }) =>
      html`<span><${Stranger} text=${method} /> <${Stranger} text=${path} /></span>${
        place >= held && html` <span class="badge bad">not verified</span>`
      }`,
  ],
  [
    "Status",
    "c-status",
    ({ status }) => (typeof status === "number" ? html`<${StatusBadge} status=${status} />` : "–"),
  ],
  [
    "Audit-ID",
    "c-audit",
    ({ auditId }) => html`<code title=${visible(auditId)}>${shortId(auditId)}</code>`,
  ],
];

/** The row of a missing record. */
function gapOf({ auditId, isMissing }: ListedRecord): VNode | undefined {
  if (isMissing !== true) return undefined;
  return html`<span class="badge bad">missing</span> A record is not in the journal: <code title=${visible(auditId)}>${visible(auditId)}</code>`;
}

/** Names the gaps above the list. */
function Gaps({ records }: { readonly records: readonly ListedRecord[] }): VNode | undefined {
  const missing = records.filter(({ isMissing }) => isMissing);
  if (missing.length === 0) return undefined;
  return html`<div class="warning" role="note">
    ${missing.slice(0, MOST_TOLD).map(({ auditId }) => html`<p key=${auditId}>Here the chain breaks: record <${LongId} id=${auditId} /> is not in the journal.</p>`)}
    ${missing.length > MOST_TOLD && html`<p>So it is with ${countText(missing.length - MOST_TOLD)} more.</p>`}
    <p>The list goes on with what the journal has of the agent from before. No record vouches for it.</p>
  </div>`;
}

/** The page at `/records/AGENT`. */
export function ChainPage({ id }: { readonly id: string }): VNode {
  const { records, error, cut, name, more, take } = useChain(id);
  const keys = useKeys();
  const [held, setHeld] = useState(Number.POSITIVE_INFINITY);
  const onReport = ({ records: count, broken: fault }: ChainReport): void =>
    setHeld(fault === undefined ? Number.POSITIVE_INFINITY : count);
  return html`<${Page} name="Records">
    <p><a href="/records">All chains</a></p>
    <h2>Chain of <${AgentLink} id=${id} name=${name} /></h2>
    ${keys.pins.length === 0 || (keys.offered?.length ?? 0) > 0 ? html`<${KeyPanel} keys=${keys} />` : undefined}
    <${VerifyPanel} agentId=${id} keys=${keys} onPage=${take} onReport=${onReport} />
    <${Section} title="Records, the newest first">
      ${records !== undefined && html`<${Gaps} records=${records} />`}
      ${error !== undefined && html`<${Pending} error=${error} thing="chain" reload=${more} />`}
      ${records === undefined && error === undefined && html`<${Pending} />`}
      ${
        records !== undefined &&
        html`<${VirtualList} label="Records" columns=${columnsOf(held)} rows=${records} keyOf=${({ place }: ListedRecord) => place} whole=${gapOf} onEnd=${more} empty="The agent has no record yet." />`
      }
      ${cut !== undefined && html`<p role="note">Record <${LongId} id=${cut.audit_id} /> and those before it were ${cut.is_archived ? "moved to the archive" : "deleted"}, with the segments through ${visible(cut.through)}.</p>`}
    <//>
  <//>`;
}
