/** One request: its way through the gates, up to the one that refused it or to its answer. */
import type { TrafficDetail } from "../answers.ts";
import { StatusBadge } from "../parts/badge.ts";
import { AgentLink, Facts, LongId, Moment, Stranger } from "../parts/facts.ts";
import { Gates } from "../parts/gates.ts";
import { Page, Pending, Section } from "../parts/page.ts";
import { html, type VNode } from "../preact.ts";
import { address } from "../router.ts";
import { millisecondsText, visible } from "../text.ts";
import { useApi } from "../use-api.ts";

/** The page at `/traffic/ID`. */
export function TrafficEntryPage({ id }: { readonly id: string }): VNode {
  const { data, error, reload } = useApi<TrafficDetail>(`/api${address("traffic", id)}`);
  return html`<${Page} name="Traffic">
    <p><a href="/traffic">All requests</a></p>
    ${
      data === undefined
        ? html`<${Pending} error=${error} thing="request" reload=${reload} />`
        : html`<${Request} detail=${data} />`
    }
  <//>`;
}

function Request({ detail }: { readonly detail: TrafficDetail }): VNode {
  const { entry, gates, agent_name } = detail;
  const facts = [
    ["Status", html`<${StatusBadge} status=${entry.status} />`],
    ["Refusal", entry.code === null ? undefined : html`<code>${visible(entry.code)}</code>`],
    ["When", html`<${Moment} at=${entry.at} isWhole />`],
    ["Took", millisecondsText(entry.duration_ms)],
    ["Agent", html`<${AgentLink} id=${entry.agent_id} name=${agent_name} />`],
    [
      "Operator",
      entry.operator === null ? undefined : html`<${Stranger} text=${entry.operator} />`,
    ],
    ["Agent-ID", entry.agent_id && html`<${LongId} id=${entry.agent_id} />`],
    ["Response-ID", html`<${LongId} id=${entry.response_id} />`],
    ["Records", recordsOf(entry.agent_id)],
  ];
  return html`<h2><${Stranger} text=${entry.method} /> <${Stranger} text=${entry.path} /></h2>
    <${Facts} facts=${facts} />
    <${Section} title="Way through the gates"><${Gates} gates=${gates} status=${entry.status} code=${entry.code} /><//>`;
}

function recordsOf(agentId: string | null): VNode | undefined {
  if (agentId === null) return undefined;
  return html`<a href=${address("records", agentId)}>The agent's chain of records</a>`;
}
