/** Traffic: recent requests, live and filtered. */
import type { TrafficDetail, TrafficEntry } from "../../answers.ts";
import { AgentLink, Facts, Gates, LongId, Moment, StatusBadge, Stranger } from "../parts/facts.ts";
import { answerPage, Page, Pending, Section } from "../parts/page.ts";
import { type ListColumn, VirtualList } from "../parts/table.ts";
import { html, type VNode } from "../preact.ts";
import { address } from "../router.ts";
import { countText, millisecondsText, visible } from "../text.ts";
import { Filters, useTraffic } from "../use-traffic.ts";

const columnsOf = (names: ReadonlyMap<string, string>): readonly ListColumn<TrafficEntry>[] => [
  ["Time", "c-time", ({ at }) => html`<${Moment} at=${at} isShort />`],
  [
    "Request",
    "c-request",
    ({ method, path, response_id }) =>
      html`<a href=${address("traffic", response_id)}><${Stranger} text=${method} /> <${Stranger} text=${path} /></a>`,
  ],
  ["Status", "c-status", ({ status }) => html`<${StatusBadge} status=${status} />`],
  [
    "Refusal",
    "c-gate",
    ({ gate, code }) =>
      html`<span title=${visible(code ?? "")}><${Stranger} text=${gate ?? code ?? ""} /></span>`,
  ],
  [
    "Agent",
    "c-agent",
    ({ agent_id, operator }) =>
      agent_id === null && operator !== null
        ? html`<${Stranger} text=${operator} /> <span class="quiet">operator</span>`
        : html`<${AgentLink} id=${agent_id} name=${names.get(agent_id ?? "")} />`,
  ],
  ["Took", "c-took", ({ duration_ms }) => millisecondsText(duration_ms)],
];

/** The page at `/traffic`; its query contains the filters. */
export function TrafficPage({ query }: { readonly query: URLSearchParams }): VNode {
  const traffic = useTraffic(query);
  const { entries, error, isPaused, held, skipped, pause, filters, setFilters } = traffic;
  const button = html`<button type="button" aria-pressed=${String(isPaused)} onClick=${pause}>${isPaused ? "Resume" : "Pause"}</button>`;
  return html`<${Page} name="Traffic" aside=${button}>
    <${Filters} filters=${filters} names=${traffic.names} onChange=${setFilters} />
    <p class="quiet" aria-live="off">${summary(entries?.length ?? 0, isPaused ? held : 0, skipped)}</p>
    ${
      entries === undefined
        ? html`<${Pending} error=${error} reload=${traffic.ask} />`
        : html`<${VirtualList} label="Requests, the newest first" columns=${columnsOf(traffic.names)} rows=${entries} keyOf=${({ number }: TrafficEntry) => number} empty=${isFiltered(filters) ? "No request meets the filters." : "No request has come since the start. It will be here as it comes."} />`
    }
  <//>`;
}

function isFiltered(filters: object): boolean {
  return Object.values(filters).some((value) => value !== "");
}

function summary(shown: number, held: number, skipped: number): string {
  const parts = [`${countText(shown)} shown`];
  if (held > 0) parts.push(`${countText(held)} more since the pause`);
  if (skipped > 0) parts.push(`${countText(skipped)} left out, too many at once`);
  return parts.join(" · ");
}

/** The page at `/traffic/ID`. */
export function TrafficEntryPage({ id }: { readonly id: string }): VNode {
  const back = html`<a href="/traffic">All requests</a>`;
  return answerPage("Traffic", `/api${address("traffic", id)}`, requestOf, {
    thing: "request",
    back,
  });
}

function requestOf({ entry, gates, agent_name }: TrafficDetail): VNode {
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
    [
      "Records",
      entry.agent_id === null
        ? undefined
        : html`<a href=${address("records", entry.agent_id)}>The agent's chain of records</a>`,
    ],
  ];
  return html`<h2><${Stranger} text=${entry.method} /> <${Stranger} text=${entry.path} /></h2>
    <${Facts} facts=${facts} />
    <${Section} title="Way through the gates"><${Gates} gates=${gates} status=${entry.status} code=${entry.code} /><//>`;
}
