/** Overview: the daemon's state, its refusals by gate, and the nodes of the server. */
import type { Overview, Problem, ServerNode } from "../../answers.ts";
import { session, useApi } from "../api.ts";
import { useEvents } from "../events.ts";
import { Badge, type Fact, Facts, LongId, Moment, StatusBadge, Stranger } from "../parts/facts.ts";
import { answerPage, loaded, Page, Section } from "../parts/page.ts";
import { type Column, Table } from "../parts/table.ts";
import { HistoryPlots } from "../plots.ts";
import { type ComponentChildren, html, useState, type VNode } from "../preact.ts";
import { countText, durationText, millisecondsText, visible } from "../text.ts";

const PROBLEMS: readonly Column<Problem>[] = [
  ["Where", ({ file, key }) => html`<code>${visible(file)}</code> ${visible(key)}`],
  ["Problem", ({ message }) => html`<${Stranger} text=${message} />`],
  ["Kind", ({ severity = "error" }) => html`<${Badge} word=${severity} />`],
];

/** The page at `/`. */
export function OverviewPage(): VNode {
  const answer = useApi<Overview>("/api/overview");
  const [live, setLive] = useState<Overview | undefined>(undefined);
  // An event is newer than a failed request.
  useEvents("overview", setLive);
  return html`<${Page} name="Overview">
    ${loaded(live === undefined ? answer : { ...answer, data: live, error: undefined }, figures)}
  <//>`;
}

function figures(overview: Overview): VNode {
  const { by_status, by_gate, problems } = overview;
  const told = html`<${Section} title="Problems">
    <${Table} label="Problems" columns=${PROBLEMS} rows=${problems}
      keyOf=${({ file, key, message }: Problem) => `${file} ${key} ${message}`}
      empty="The deployment was loaded without a problem." />
  <//>`;
  // Errors come first on the page.
  const isUrgent = problems.some(({ severity = "error" }) => severity === "error");
  return html`${tiles(overview)}
    ${isUrgent && told}
    ${session().inspect_only === false && html`<${HistoryPlots} latest=${overview.latest} />`}
    <div class="columns">
      <${Section} title="Answers by status">
        <${Bars} counts=${by_status} empty="Nothing was answered yet."
          name=${(status: string) => html`<a href=${`/traffic?status=${encodeURIComponent(status)}`}><${StatusBadge} status=${Number(status)} /></a>`} />
      <//>
      <${Section} title="Refusals by gate">
        <${Bars} counts=${by_gate} empty="Nothing was refused yet."
          name=${(gate: string) => html`<a href=${`/traffic?gate=${encodeURIComponent(gate)}`}><${Stranger} text=${gate} /></a>`} />
      <//>
    </div>
    ${!isUrgent && told}
    <${Section} title="Server"><${Facts} facts=${serverFacts(overview.server)} /><//>`;
}

function tiles(overview: Overview): VNode {
  const { requests, by_gate, latency_ms, connections, journal, waiting, server } = overview;
  const refused = Object.values(by_gate).reduce((sum, count) => sum + count, 0);
  const state = journal.writable ? "writable" : "not writable";
  return html`<dl class="tiles">
    ${tile("Waiting for a decision", html`<a href="/approvals">${countText(waiting)}</a>`, waiting > 0 ? "wait" : "")}
    ${tile("Requests", countText(requests))}
    ${tile("Refused", countText(refused))}
    ${tile("Latency, median", millisecondsText(latency_ms.p50))}
    ${tile("Latency, 99 %", millisecondsText(latency_ms.p99))}
    ${tile("Open connections", countText(connections))}
    ${tile("Journal", state, journal.writable ? "" : "bad")}
    ${tile("Up for", durationText(server.uptime_s))}
  </dl>`;
}

function tile(name: string, value: ComponentChildren, tone = ""): VNode {
  return html`<div class=${`tile ${tone}`}><dt>${name}</dt><dd>${value}</dd></div>`;
}

/** Counts as bars whose length is their share, each with its number. */
function Bars(props: {
  readonly counts: Readonly<Record<string, number>>;
  readonly name: (key: string) => VNode;
  readonly empty: string;
}): VNode {
  const entries = Object.entries(props.counts).toSorted(([, a], [, b]) => b - a);
  if (entries.length === 0) return html`<p class="quiet">${props.empty}</p>`;
  const most = Math.max(1, ...entries.map(([, count]) => count));
  return html`<ul class="bars">
    ${entries.map(
      ([key, count]) => html`<li key=${key}>
        <span class="bar-name">${props.name(key)}</span>
        <span class="bar" aria-hidden="true"><span style=${{ width: `${(count / most) * 100}%` }}></span></span>
        <span class="bar-count">${countText(count)}</span>
      </li>`,
    )}
  </ul>`;
}

function serverFacts(server: Overview["server"]): readonly Fact[] {
  return [
    ["Server", html`<${Stranger} text=${server.server_id} />`],
    ["Version", visible(server.version)],
    ["Address", visible(`${server.address}:${server.port}`)],
    ["Gateway's port", server.gateway_port ?? undefined],
    ["Manifest", html`<${LongId} id=${server.document_version} />`],
  ];
}

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
  return answerPage<{ readonly nodes: readonly ServerNode[] }>(
    "Nodes",
    "/api/nodes",
    ({ nodes }) => {
      return html`<${Table} label="Nodes" columns=${COLUMNS} rows=${nodes} keyOf=${({ node }: ServerNode) => node} empty="No node is known." />`;
    },
  );
}
