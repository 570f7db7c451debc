/** Endpoints: the served ones, their requirements on a caller, and a form to try each. */
import type { Endpoint, EndpointDetail, TryAnswer, TryOffer } from "../../answers.ts";
import { asApiError, isOperator, post, useApi } from "../api.ts";
import { isObject, lossIn, objectIn } from "../parts/call-view.ts";
import {
  Badge,
  type Fact,
  Facts,
  Gates,
  Json,
  LongId,
  StatusBadge,
  Stranger,
} from "../parts/facts.ts";
import { answerPage, loaded, Section, say } from "../parts/page.ts";
import { type Column, Table } from "../parts/table.ts";
import { html, useState, type VNode } from "../preact.ts";
import { address } from "../router.ts";
import { editableJson, millisecondsText, visible } from "../text.ts";

const COLUMNS: readonly Column<Endpoint>[] = [
  [
    "Endpoint",
    ({ method, path, deprecated }) =>
      html`<a href=${endpointAddress(method, path)}><${Stranger} text=${method} /> <${Stranger} text=${path} /></a>
        ${deprecated && html` <${Badge} word="deprecated" />`}`,
  ],
  ["Does", ({ description }) => html`<${Stranger} text=${description} />`],
  ["Impact", ({ impact }) => visible(impact ?? "–")],
  [
    "Scopes",
    ({ required_scopes }) =>
      required_scopes.length === 0
        ? "–"
        : required_scopes.map(
            (scope) => html`<code key=${scope} class="line">${visible(scope)}</code>`,
          ),
    "optional",
  ],
  ["Approval", ({ approval }) => visible(approval ?? "–")],
];

/** The page at `/endpoints`. */
export function EndpointsPage(): VNode {
  return answerPage("Endpoints", "/api/endpoints", endpointsOf);
}

function endpointsOf({ endpoints }: { readonly endpoints: readonly Endpoint[] }): VNode {
  return html`<${Table} label="Endpoints" columns=${COLUMNS} rows=${endpoints} keyOf=${nameOf} nameOf=${nameOf}
    empty="This server has no endpoints. They are files under endpoints/; agtp-openapi import and agtp-mcp import write some." />`;
}

function nameOf({ method, path }: Endpoint): string {
  return `${method} ${path}`;
}

/** The address of an endpoint's page; its path follows the method. */
function endpointAddress(method: string, path: string): string {
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  return `/endpoints/${encodeURIComponent(method)}${encoded}`;
}

/** Members that the page shows elsewhere. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  ...["method", "path", "description", "semantic", "input", "output"],
  ...["input_schema", "output_schema"],
]);

/** The page at `/endpoints/METHOD/PATH`; `tail` is the encoded part after `/endpoints/`. */
export function EndpointPage({ tail }: { readonly tail: string }): VNode {
  const view = (detail: EndpointDetail): VNode => wholeOf(detail, tail);
  const back = html`<a href="/endpoints">All endpoints</a>`;
  return answerPage("Endpoints", `/api/endpoints/${tail}`, view, { thing: "endpoint", back });
}

function wholeOf(detail: EndpointDetail, tail: string): VNode {
  const { endpoint, input_schema, output_schema } = detail;
  const semantic = isObject(endpoint["semantic"]) ? endpoint["semantic"] : {};
  const facts = Object.entries(endpoint).filter(
    ([name, value]) => !ELSEWHERE.has(name) && !(name in semantic) && value !== null,
  );
  return html`<h2><${Stranger} text=${endpoint["method"]} /> <${Stranger} text=${endpoint["path"]} /></h2>
    ${endpoint["description"] && html`<p><${Stranger} text=${endpoint["description"]} /></p>`}
    <${Section} title="Contract"><${Facts} facts=${[...Object.entries(semantic), ...facts].map(factOf)} /><//>
    ${isOperator() && html`<${Section} title="Try it"><${TryPanel} tail=${tail} impact=${semantic["impact"]} /><//>`}
    <${Section} title="Input"><${Json} value=${input_schema} label="Schema of the input" /><//>
    <${Section} title="Output"><${Json} value=${output_schema} label="Schema of the output" /><//>`;
}

function factOf([name, value]: readonly [string, unknown]): Fact {
  return [wordsOf(name), html`<${Stranger} text=${factText(value)} />`];
}

function wordsOf(name: string): string {
  return visible(name).replaceAll("_", " ");
}

/** Writes lists, pairs and plain objects as words, and values nested in them as JSON. */
function factText(value: unknown): unknown {
  if (Array.isArray(value)) return value.join(", ");
  if (!isObject(value)) return value;
  return Object.entries(value)
    .map(([name, one]) => `${wordsOf(name)}: ${pairText(one)}`)
    .join(", ");
}

function pairText(value: unknown): string {
  if (typeof value === "string") return value;
  const { method, path } = isObject(value) ? value : {};
  const isPair = typeof method === "string" && typeof path === "string";
  return isPair ? `${method} ${path}` : JSON.stringify(value);
}

interface Form {
  readonly agentId: string;
  readonly input: string;
  readonly escalationId: string;
}

/** The trial form and its result; `tail` names the endpoint, encoded. */
function TryPanel(props: { readonly tail: string; readonly impact: unknown }): VNode {
  const path = `/api/try/${props.tail}`;
  return loaded(useApi<TryOffer>(path), (offer) =>
    offer.agents.length === 0
      ? html`<p class="quiet">This server has no agent that you could speak for.</p>`
      : html`<${TryForm} path=${path} offer=${offer} impact=${props.impact} />`,
  );
}

function TryForm(props: {
  readonly path: string;
  readonly offer: TryOffer;
  readonly impact: unknown;
}): VNode {
  const { path, offer, impact } = props;
  const [form, setForm] = useState<Form>(() => firstForm(offer));
  const [fault, setFault] = useState<string | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const [answer, setAnswer] = useState<TryAnswer | undefined>(undefined);
  // A call may take long: text typed meanwhile is kept.
  const change = (changed: Partial<Form>): void => setForm((before) => ({ ...before, ...changed }));
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const input = objectIn(form.input);
    const found = input === undefined ? "The input must be a JSON object" : lossIn(form.input);
    setFault(found && `${found}.`);
    if (input === undefined || found !== undefined || isBusy) return;
    setBusy(true);
    try {
      const { agentId: agent_id, escalationId } = form;
      const presented = escalationId === "" ? {} : { escalation_id: escalationId.trim() };
      const got = await post<TryAnswer>(path, { agent_id, input, ...presented });
      setAnswer(got);
      setForm((now) => (now.escalationId === escalationId ? waitingUnder(got, now) : now));
      say(`${got.method} ${visible(got.path)} was answered ${got.status}.`);
    } catch (error) {
      say(`Try failed: ${asApiError(error).message}`, true);
    } finally {
      setBusy(false);
    }
  };
  return html`<form class="try" onSubmit=${submit}>
      <p class="quiet">A real call${impactText(impact)}. It passes every gate with the agent's scopes, and its record names the agent and you.</p>
      <label class="field" for="try-agent">Agent
        <select id="try-agent" value=${form.agentId} onChange=${(event: Event) => change({ agentId: valueIn(event) })}>
          ${offer.agents.map((agent) => html`<option key=${agent.agent_id} value=${agent.agent_id}>${optionText(agent)}</option>`)}
        </select>
      </label>
      <label class="field" for="try-input">Input
        <textarea id="try-input" class="code-field" rows=${rowsOf(form.input)} spellcheck=${false} value=${form.input} aria-invalid=${fault === undefined ? undefined : "true"}
          aria-describedby=${fault === undefined ? undefined : "try-fault"} onInput=${(event: Event) => change({ input: valueIn(event) })}></textarea>
      </label>
      ${fault !== undefined && html`<p id="try-fault" class="warning" role="alert">${fault}</p>`}
      <label class="field" for="try-escalation">Escalation-ID, for a call that was approved
        <input id="try-escalation" value=${form.escalationId} autocomplete="off" spellcheck=${false} onInput=${(event: Event) => change({ escalationId: valueIn(event) })} />
      </label>
      <div class="buttons"><button type="submit" class="good" aria-disabled=${isBusy ? "true" : undefined}>Try</button></div>
    </form>
    ${answer !== undefined && resultOf(answer)}`;
}

/** The initial form; an active agent is preferred. */
function firstForm({ agents, input }: TryOffer): Form {
  const first = agents.find(({ status }) => status === "active") ?? agents[0];
  const agentId = first?.agent_id ?? "";
  return { agentId, input: editableJson(input), escalationId: "" };
}

/** Adds the escalation that the call waits for to the form. */
function waitingUnder({ status, body }: TryAnswer, form: Form): Form {
  const id = status === 262 && isObject(body) ? body["escalation_id"] : undefined;
  return typeof id === "string" ? { ...form, escalationId: id } : form;
}

function impactText(impact: unknown): string {
  return typeof impact === "string" ? `, of impact ${visible(impact)}` : "";
}

function optionText({ name, status }: TryOffer["agents"][number]): string {
  return status === "active" ? visible(name) : `${visible(name)} (${visible(status)})`;
}

function rowsOf(text: string): number {
  return Math.min(20, Math.max(4, text.split("\n").length));
}

function valueIn(event: Event): string {
  return (event.target as HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement).value;
}

/** The result: status, way through the gates, record, and body as text. */
function resultOf(answer: TryAnswer): VNode {
  const { method, path, status, response_id, audit_id, duration_ms, gates, body, is_whole } =
    answer;
  const escalationId = isObject(body) ? body["escalation_id"] : undefined;
  const facts: readonly Fact[] = [
    ["Status", html`<${StatusBadge} status=${status} />`],
    [
      "Waits for",
      typeof escalationId === "string"
        ? html`<a href=${address("approvals", escalationId)}>A decision by an operator</a>`
        : undefined,
    ],
    ["Took", millisecondsText(duration_ms)],
    ["Audit-ID", audit_id === null ? "no record is kept" : html`<${LongId} id=${audit_id} />`],
    ["Request", html`<a href=${address("traffic", response_id)}>In the traffic</a>`],
  ];
  return html`<div class="try-answer" role="region" aria-label="Answer">
    <h3><${Stranger} text=${method} /> <${Stranger} text=${path} /></h3>
    <${Facts} facts=${facts} />
    <div class="columns">
      <div><h4 class="small">Answer</h4>${
        is_whole ? "" : html`<p class="quiet">Only its beginning is shown.</p>`
      }<${Json} value=${body} label="Body of the answer" /></div>
      <div><h4 class="small">Way through the gates</h4><${Gates} gates=${gates} status=${status} code=${codeOf(body)} /></div>
    </div>
  </div>`;
}

function codeOf(body: unknown): string | null {
  const error = isObject(body) ? body["error"] : undefined;
  const code = isObject(error) ? error["code"] : undefined;
  return typeof code === "string" ? code : null;
}
