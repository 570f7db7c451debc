/** Upstreams: the servers that this one calls, their health, and the pinned tool definitions. */
import type { HttpUpstream, UpstreamAgent, Upstreams, UpstreamTool } from "../../answers.ts";
import { isOperator } from "../api.ts";
import { differenceOf, isObject } from "../parts/call-view.ts";
import { type Action, Change } from "../parts/change.ts";
import { Badge, type Fact, Facts, LongId, Moment, Stranger } from "../parts/facts.ts";
import { answerPage, Section } from "../parts/page.ts";
import { type Column, Table } from "../parts/table.ts";
import { postDecision } from "../passkeys.ts";
import { html, type VNode } from "../preact.ts";
import { address } from "../router.ts";
import { countText, visible } from "../text.ts";

type McpServer = Upstreams["mcp"][number];

const HTTP: readonly Column<HttpUpstream>[] = [
  ["Address", ({ url }) => html`<${Stranger} text=${url} />`],
  ["State", ({ state }) => html`<${Badge} word=${state} />`],
  ["Endpoints", ({ endpoints }) => countText(endpoints), "number"],
  ["Calls", ({ calls }) => countText(calls), "number"],
  ["Failed", ({ faults }) => countText(faults), "number"],
  [
    "Last failure",
    ({ last_fault: code }) => (code === undefined ? "" : html`<code>${visible(code)}</code>`),
  ],
  ["Last call", ({ last_at }) => html`<${Moment} at=${last_at} />`, "optional"],
];

type Process = Upstreams["processes"][number];

const PROCESSES: readonly Column<Process>[] = [
  ["Name", ({ name }) => html`<${Stranger} text=${name} />`],
  ["State", ({ state }) => html`<${Badge} word=${state} />`],
  ["Running", ({ ready, count }) => `${ready} of ${count}`, "number"],
  ["Calls", ({ calls }) => countText(calls), "number"],
  ["Waiting", ({ waiting }) => countText(waiting), "number"],
  ["Restarts", ({ restarts }) => countText(restarts), "number"],
  [
    "Mean time",
    ({ latency_ms: mean }) => (mean === null ? "" : `${mean.toFixed(2)} ms`),
    "optional",
  ],
];

/** The page at `/upstreams`. */
export function UpstreamsPage(): VNode {
  return answerPage("Upstreams", "/api/upstreams", wholeOf);
}

function wholeOf({ http, mcp, agents, processes }: Upstreams, reload: () => void): VNode {
  return html`<${Section} title="MCP servers">
      ${mcp.length === 0 && html`<p class="quiet">None is configured. [[mcp.servers]] names one, and agtp-mcp import makes endpoints of its tools.</p>`}
      ${mcp.map((server) => serverOf(server, reload))}
    <//>
    <${Section} title="HTTP APIs">
      <${Table} label="HTTP APIs" columns=${HTTP} rows=${http} keyOf=${({ url }: HttpUpstream) => url} empty="No endpoint calls one. agtp-openapi import makes endpoints of an API." />
    <//>
    <${Section} title="Processes">
      <${Table} label="Processes" columns=${PROCESSES} rows=${processes} keyOf=${({ name }: Process) => name} empty="None is configured. [[processes]] names one that functions of endpoints run in, such as Python." />
    <//>
    <${Section} title="AGNTCY agents">
      ${agents.length === 0 && html`<p class="quiet">None is configured. Their manifests stand under [agntcy].</p>`}
      ${agents.map(agentOf)}
    <//>`;
}

function serverOf({ server, state, tools }: McpServer, reload: () => void): VNode {
  return html`<article key=${server}>
    <h3><${Stranger} text=${server} /> <${Badge} word=${state} /></h3>
    ${tools.length === 0 && html`<p class="quiet">No endpoint calls a tool of it.</p>`}
    ${tools.map((tool) => toolOf(server, tool, reload))}
  </article>`;
}

function toolOf(server: string, tool: UpstreamTool, reload: () => void): VNode {
  const { tool: name, endpoint, pin, state, difference, escalation_id } = tool;
  const facts: readonly Fact[] = [
    ["Endpoint", html`<${Stranger} text=${endpoint} />`],
    ["Definition", html`<${Badge} word=${state} />`],
    ["Pin", html`<${LongId} id=${pin} />`],
    [
      "Escalation",
      escalation_id && html`<a href=${address("approvals", escalation_id)}>The question</a>`,
    ],
  ];
  return html`<div key=${`${name} ${endpoint}`} class="tool">
    <h4><${Stranger} text=${name} /></h4>
    <${Facts} facts=${facts} />
    ${difference !== undefined && differencesOf(name, [difference].flat())}
    ${
      state === "changed" &&
      isOperator() &&
      html`<${Change} id=${`${server}-${name}`} hasReason=${false} actions=${actionsOn(server, name, escalation_id)} onDone=${reload} />`
    }
  </div>`;
}

function differencesOf(name: string, differences: readonly unknown[]): VNode {
  const label = `How the definition of ${visible(name)} differs`;
  const lines = differences.map((line, index) =>
    isObject(line) && typeof line["path"] === "string"
      ? differenceOf({ pointer: line["path"], before: line["before"], after: line["after"] })
      : html`<li key=${index}><${Stranger} text=${line} /></li>`,
  );
  return html`<ul class="differences" aria-label=${label}>${lines}</ul>`;
}

function actionsOn(server: string, tool: string, escalationId = ""): readonly Action[] {
  const decide = (action: string, decision: string) => () =>
    postDecision(
      `/api${address("upstreams", server, tool)}`,
      { action },
      { escalation_id: escalationId, decision },
    );
  return [
    {
      ...{
        name: "Accept definition",
        run: decide("accept", "accepted"),
        done: "The definition is accepted.",
      },
      confirm: `Accept the new definition of ${visible(tool)}? Its endpoints call it from now on.`,
    },
    {
      ...{
        name: "Refuse definition",
        run: decide("refuse", "rejected"),
        done: "The definition is refused.",
      },
      tone: "bad",
    },
  ];
}

function agentOf(agent: UpstreamAgent): VNode {
  const { name, version, base, url, state, reason, dependencies } = agent;
  const facts: readonly Fact[] = [
    ["Served on", html`<code><${Stranger} text=${base} /></code>`],
    ["Version", html`<${Stranger} text=${version} />`],
    ["Address", url === null ? "not known" : html`<${Stranger} text=${url} />`],
    ["Reason", reason === undefined ? undefined : html`<${Stranger} text=${reason} />`],
    ["Depends on", dependencies.length === 0 ? undefined : dependencies.map(dependencyOf)],
  ];
  return html`<article key=${base}>
    <h3><${Stranger} text=${name} /> <${Badge} word=${state} /></h3>
    <${Facts} facts=${facts} />
  </article>`;
}

function dependencyOf({ name, status, reason }: UpstreamAgent["dependencies"][number]): VNode {
  return html`<div key=${name}><${Stranger} text=${name} /> <${Badge} word=${status} />
    ${reason !== undefined && html` <span class="quiet"><${Stranger} text=${reason} /></span>`}</div>`;
}
