/** Upstreams: whom this server calls, whether they answer, and which definitions are pinned. */

import { differenceOf } from "../approvals/call-view.ts";
import { isObject } from "../approvals/subject.ts";
import { Badge } from "../parts/badge.ts";
import { type Action, Change } from "../parts/change.ts";
import { type Fact, Facts, LongId, Moment, Stranger } from "../parts/facts.ts";
import { Page, Pending, Section } from "../parts/page.ts";
import { Table } from "../parts/table.ts";
import { postSigned } from "../passkeys/sign.ts";
import { html, type VNode } from "../preact.ts";
import { address } from "../router.ts";
import { isOperator } from "../session.ts";
import { countText, visible } from "../text.ts";
import { UpstreamAgents } from "../upstreams/agents.ts";
import type { HttpUpstream, Upstreams, UpstreamTool } from "../upstreams/answers.ts";
import { useApi } from "../use-api.ts";

type McpServer = Upstreams["mcp"][number];

const HTTP = [
  { title: "Address", cell: ({ url }: HttpUpstream) => html`<${Stranger} text=${url} />` },
  { title: "State", cell: ({ state }: HttpUpstream) => html`<${Badge} word=${state} />` },
  {
    title: "Endpoints",
    kind: "number",
    cell: ({ endpoints }: HttpUpstream) => countText(endpoints),
  },
  { title: "Calls", kind: "number", cell: ({ calls }: HttpUpstream) => countText(calls) },
  { title: "Failed", kind: "number", cell: ({ faults }: HttpUpstream) => countText(faults) },
  {
    title: "Last failure",
    cell: ({ last_fault: code }: HttpUpstream) =>
      code === undefined ? "" : html`<code>${visible(code)}</code>`,
  },
  {
    title: "Last call",
    kind: "optional",
    cell: ({ last_at }: HttpUpstream) => html`<${Moment} at=${last_at} />`,
  },
];

type Process = Upstreams["processes"][number];

const PROCESSES = [
  { title: "Name", cell: ({ name }: Process) => html`<${Stranger} text=${name} />` },
  { title: "State", cell: ({ state }: Process) => html`<${Badge} word=${state} />` },
  { title: "Running", kind: "number", cell: ({ ready, count }: Process) => `${ready} of ${count}` },
  { title: "Calls", kind: "number", cell: ({ calls }: Process) => countText(calls) },
  { title: "Waiting", kind: "number", cell: ({ waiting }: Process) => countText(waiting) },
  { title: "Restarts", kind: "number", cell: ({ restarts }: Process) => countText(restarts) },
  {
    title: "Mean time",
    kind: "optional",
    cell: ({ latency_ms: mean }: Process) => (mean === null ? "" : `${mean.toFixed(2)} ms`),
  },
];

/** The page at `/upstreams`. */
export function UpstreamsPage(): VNode {
  const { data, error, reload } = useApi<Upstreams>("/api/upstreams");
  return html`<${Page} name="Upstreams">
    ${
      data === undefined
        ? html`<${Pending} error=${error} reload=${reload} />`
        : html`<${Whole} upstreams=${data} reload=${reload} />`
    }
  <//>`;
}

function Whole(props: { readonly upstreams: Upstreams; readonly reload: () => void }): VNode {
  const { http, mcp, agents, processes } = props.upstreams;
  return html`<${Section} title="MCP servers">
      ${mcp.length === 0 && html`<p class="quiet">None is configured. [[mcp.servers]] names one, and agtp-mcp import makes endpoints of its tools.</p>`}
      ${mcp.map((server) => html`<${Server} key=${server.server} server=${server} reload=${props.reload} />`)}
    <//>
    <${Section} title="HTTP APIs">
      <${Table} label="HTTP APIs" columns=${HTTP} rows=${http} keyOf=${({ url }: HttpUpstream) => url} empty="No endpoint calls one. agtp-openapi import makes endpoints of an API." />
    <//>
    <${Section} title="Processes">
      <${Table} label="Processes" columns=${PROCESSES} rows=${processes} keyOf=${({ name }: Process) => name} empty="None is configured. [[processes]] names one that functions of endpoints run in, such as Python." />
    <//>
    <${Section} title="AGNTCY agents">
      <${UpstreamAgents} agents=${agents} />
    <//>`;
}

function Server(props: { readonly server: McpServer; readonly reload: () => void }): VNode {
  const { server, state, tools } = props.server;
  return html`<article>
    <h3><${Stranger} text=${server} /> <${Badge} word=${state} /></h3>
    ${tools.length === 0 && html`<p class="quiet">No endpoint calls a tool of it.</p>`}
    ${tools.map((tool) => html`<${Tool} key=${`${tool.tool} ${tool.endpoint}`} server=${server} tool=${tool} reload=${props.reload} />`)}
  </article>`;
}

function Tool(props: {
  readonly server: string;
  readonly tool: UpstreamTool;
  readonly reload: () => void;
}): VNode {
  const { server, tool, reload } = props;
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
  return html`<div class="tool">
    <h4><${Stranger} text=${name} /></h4>
    <${Facts} facts=${facts} />
    ${difference !== undefined && html`<${Difference} name=${name} lines=${Array.isArray(difference) ? difference : [difference]} />`}
    ${
      state === "changed" &&
      isOperator() &&
      html`<${Change} id=${`${server}-${name}`} hasReason=${false} actions=${actionsOn(server, name, escalation_id)} onDone=${reload} />`
    }
  </div>`;
}

function Difference(props: { readonly name: string; readonly lines: readonly unknown[] }): VNode {
  const label = `How the definition of ${visible(props.name)} differs`;
  const lines = props.lines.map((line, index) =>
    isObject(line) && typeof line["path"] === "string"
      ? differenceOf({ pointer: line["path"], before: line["before"], after: line["after"] })
      : html`<li key=${index}><${Stranger} text=${line} /></li>`,
  );
  return html`<ul class="differences" aria-label=${label}>${lines}</ul>`;
}

function actionsOn(server: string, tool: string, escalationId = ""): readonly Action[] {
  const subject = { for: "decision", escalation_id: escalationId, decision: "accepted" };
  const decide = (action: string) => () =>
    postSigned(
      `/api${address("upstreams", server, tool)}`,
      { action },
      action === "accept" ? subject : undefined,
    );
  return [
    {
      ...{ name: "Accept definition", run: decide("accept"), done: "The definition is accepted." },
      confirm: `Accept the new definition of ${visible(tool)}? Its endpoints call it from now on.`,
    },
    {
      ...{ name: "Refuse definition", run: decide("refuse"), done: "The definition is refused." },
      tone: "bad",
    },
  ];
}
