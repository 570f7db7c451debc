/** Traffic: the requests of late, live, and those that meet the filters. */
import type { TrafficEntry } from "../answers.ts";
import { StatusBadge } from "../parts/badge.ts";
import { AgentLink, Moment, Stranger } from "../parts/facts.ts";
import { Page, Pending } from "../parts/page.ts";
import { VirtualList } from "../parts/virtual-list.ts";
import { html, type VNode } from "../preact.ts";
import { address } from "../router.ts";
import { countText, millisecondsText, visible } from "../text.ts";
import { Filters } from "../traffic/filters.ts";
import { useTraffic } from "../traffic/use-traffic.ts";

const columnsOf = (names: ReadonlyMap<string, string>) => [
  {
    title: "Time",
    name: "c-time",
    cell: ({ at }: TrafficEntry) => html`<${Moment} at=${at} isShort />`,
  },
  {
    title: "Request",
    name: "c-request",
    cell: ({ method, path, response_id }: TrafficEntry) =>
      html`<a href=${address("traffic", response_id)}><${Stranger} text=${method} /> <${Stranger} text=${path} /></a>`,
  },
  {
    title: "Status",
    name: "c-status",
    cell: ({ status }: TrafficEntry) => html`<${StatusBadge} status=${status} />`,
  },
  {
    title: "Refusal",
    name: "c-gate",
    // What fails behind the gates has its code alone.
    cell: ({ gate, code }: TrafficEntry) =>
      html`<span title=${visible(code ?? "")}><${Stranger} text=${gate ?? code ?? ""} /></span>`,
  },
  {
    title: "Agent",
    name: "c-agent",
    cell: ({ agent_id, operator }: TrafficEntry) =>
      agent_id === null && operator !== null
        ? html`<${Stranger} text=${operator} /> <span class="quiet">operator</span>`
        : html`<${AgentLink} id=${agent_id} name=${names.get(agent_id ?? "")} />`,
  },
  {
    title: "Took",
    name: "c-took",
    cell: ({ duration_ms }: TrafficEntry) => millisecondsText(duration_ms),
  },
];

/** The page at `/traffic`; its query holds the filters. */
export function TrafficPage({ query }: { readonly query: URLSearchParams }): VNode {
  const traffic = useTraffic(query);
  const { entries, error, isPaused, held, skipped, pause, filters, setFilters } = traffic;
  const button = html`<button type="button" aria-pressed=${String(isPaused)} onClick=${pause}>${isPaused ? "Resume" : "Pause"}</button>`;
  return html`<${Page} name="Traffic" aside=${button}>
    <${Filters} filters=${filters} onChange=${setFilters} />
    <p class="quiet" aria-live="off">${summary(entries?.length ?? 0, isPaused ? held : 0, skipped)}</p>
    ${error !== undefined && html`<${Pending} error=${error} />`}
    ${entries === undefined && error === undefined && html`<${Pending} />`}
    ${
      entries !== undefined &&
      html`<${VirtualList} label="Requests, the newest first" columns=${columnsOf(traffic.names)} rows=${entries} empty=${isFiltered(filters) ? "No request meets the filters." : "No request has come since the start. It will be here as it comes."} />`
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
