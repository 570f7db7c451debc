/** Agents: every agent that this server knows, with status and the time of the latest record. */
import type { Agent, AgentDetail } from "../../answers.ts";
import { isOperator, post } from "../api.ts";
import { type Action, Change } from "../parts/change.ts";
import {
  AgentLink,
  Badge,
  type Fact,
  Facts,
  Json,
  LongId,
  Moment,
  Stranger,
} from "../parts/facts.ts";
import { answerPage, Section } from "../parts/page.ts";
import { type Column, Table } from "../parts/table.ts";
import { html, type VNode } from "../preact.ts";
import { address } from "../router.ts";
import { countText, shortId, visible } from "../text.ts";

const COLUMNS: readonly Column<Agent>[] = [
  ["Agent", ({ agent_id, name }) => html`<${AgentLink} id=${agent_id} name=${name} />`],
  ["Status", ({ status }) => html`<${Badge} word=${status} />`],
  ["Trust tier", ({ trust_tier }) => visible(trust_tier), "number"],
  [
    "Verified by",
    ({ verification_path }) =>
      verification_path === null ? "–" : html`<${Stranger} text=${verification_path} />`,
    "optional",
  ],
  [
    "Scopes",
    ({ scopes }) =>
      html`<span title=${visible(scopes.join(" "))}>${countText(scopes.length)}</span>`,
    "number",
  ],
  ["Last record", ({ last_at }) => html`<${Moment} at=${last_at} />`],
];

/** The page at `/agents`. */
export function AgentsPage(): VNode {
  return answerPage<{ readonly agents: readonly Agent[] }>(
    "Agents",
    "/api/agents",
    ({ agents }) => {
      return html`<${Table} label="Agents" columns=${COLUMNS} rows=${agents} keyOf=${({ agent_id }: Agent) => agent_id}
      empty="This server has no agents. Their identity documents are files under agents/, read at the start and by agtpd reload." />`;
    },
  );
}

/** Something that happened to the agent; the payload is its record's. */
interface Event {
  readonly audit_id: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** The page at `/agents/ID`. */
export function AgentPage({ id }: { readonly id: string }): VNode {
  const back = html`<a href="/agents">All agents</a>`;
  return answerPage("Agents", `/api${address("agents", id)}`, wholeOf, { thing: "agent", back });
}

function wholeOf({ agent, events }: AgentDetail, reload: () => void): VNode {
  const actions = actionsOn(agent);
  return html`<h2><${Stranger} text=${agent.name} /></h2>
    ${agent.description && html`<p><${Stranger} text=${agent.description} /></p>`}
    <${Facts} facts=${factsOf(agent)} />
    ${
      isOperator() &&
      actions.length > 0 &&
      html`<${Section} title="Change the standing"><${Change} id="agent" actions=${actions} onDone=${reload} /><//>`
    }
    <${Section} title="Scopes">${scopeList(agent.scopes)}<//>
    <${Section} title="Lifecycle">
      <${Table} label="Lifecycle" columns=${EVENT_COLUMNS} rows=${events.map((one) => ({ ...one, payload: one.payload ?? {} }))}
        keyOf=${({ audit_id }: Event) => audit_id} empty="Nothing has happened to it." />
    <//>
    ${
      agent.document !== undefined &&
      agent.document !== null &&
      html`<${Section} title="Identity document"><${Json} value=${agent.document} label="Identity document" /><//>`
    }`;
}

function factsOf(agent: AgentDetail["agent"]): readonly Fact[] {
  const { agent_id, status, trust_tier, verification_path, owner_id, last_at } = agent;
  return [
    ["Status", html`<${Badge} word=${status} />`],
    ["Trust tier", trust_tier === null ? "–" : visible(trust_tier)],
    ["Verified by", verification_path ? html`<${Stranger} text=${verification_path} />` : "–"],
    ["Owner", owner_id ? html`<${LongId} id=${owner_id} />` : "–"],
    ["Agent-ID", html`<${LongId} id=${agent_id} />`],
    ["Last record", html`<${Moment} at=${last_at} isWhole />`],
    ["Records", html`<a href=${address("records", agent_id)}>The chain of records</a>`],
    [
      "Traffic",
      html`<a href=${`/traffic?agent=${encodeURIComponent(agent_id)}`}>The requests of late</a>`,
    ],
  ];
}

/** The actions that apply to the agent's status. */
function actionsOn({ agent_id, name, status }: AgentDetail["agent"]): readonly Action[] {
  if (status === "retired" || status === "revoked") return [];
  const shown = visible(name);
  const change = (action: string) => (reason: string) =>
    post(`/api${address("agents", agent_id)}`, { action, reason });
  const suspend: Action = {
    ...{ name: "Suspend", run: change("suspend"), done: `${shown} is suspended.` },
    confirm: `Suspend ${shown}? Its calls are refused until it is reinstated.`,
  };
  const reinstate: Action = {
    ...{ name: "Reinstate", run: change("reinstate"), done: `${shown} is active again.` },
    confirm: `Reinstate ${shown}? Its calls are served again.`,
  };
  const revoke: Action = {
    ...{ name: "Revoke", run: change("revoke"), done: `${shown} is revoked.`, tone: "bad" },
    needsReason: true,
    confirm: `Revoke ${shown}? This is for good: a revoked agent never comes back.`,
  };
  return [status === "suspended" ? reinstate : suspend, revoke];
}

function scopeList(scopes: readonly string[]): VNode {
  if (scopes.length === 0) return html`<p class="quiet">It was granted none.</p>`;
  return html`<ul class="chips">${scopes.map((scope) => html`<li key=${scope}><code>${visible(scope)}</code></li>`)}</ul>`;
}

const EVENT_COLUMNS: readonly Column<Event>[] = [
  [
    "Event",
    ({ payload }) =>
      html`<${Stranger} text=${payload["event_type"] ?? payload["method"] ?? "event"} />`,
  ],
  [
    "When",
    ({ payload }) =>
      html`<${Moment} at=${typeof payload["issued_at"] === "string" ? payload["issued_at"] : null} />`,
  ],
  ["Status", ({ payload }) => statusOf(payload)],
  ["By", ({ payload }) => personOf(payload)],
  [
    "Reason",
    ({ payload }) =>
      payload["reason"] === undefined ? "–" : html`<${Stranger} text=${payload["reason"]} />`,
  ],
  [
    "Audit-ID",
    ({ audit_id }) => html`<code title=${visible(audit_id)}>${shortId(audit_id)}</code>`,
    "optional",
  ],
];

function statusOf({ previous_status, new_status }: Event["payload"]): string {
  if (new_status === undefined) return "–";
  return previous_status === undefined
    ? visible(new_status)
    : `${visible(previous_status)} → ${visible(new_status)}`;
}

function personOf({ operator }: Event["payload"]): VNode | string {
  if (operator === undefined || operator === null) return "–";
  const { name, id } = operator as { name?: unknown; id?: unknown };
  return html`<${Stranger} text=${name ?? id ?? operator} />`;
}
