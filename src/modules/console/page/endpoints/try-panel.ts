/** Try: the form of a real call that an operator makes in the name of an agent of this server. */
import type { TryAnswer, TryOffer } from "../answers.ts";
import { post } from "../api.ts";
import { isObject } from "../approvals/subject.ts";
import { StatusBadge } from "../parts/badge.ts";
import { type Fact, Facts, Json, LongId, Stranger } from "../parts/facts.ts";
import { Gates } from "../parts/gates.ts";
import { say } from "../parts/notice.ts";
import { Pending } from "../parts/page.ts";
import { html, useState, type VNode } from "../preact.ts";
import { address } from "../router.ts";
import { editableJson, millisecondsText, visible } from "../text.ts";
import { asApiError, useApi } from "../use-api.ts";

interface Form {
  readonly agentId: string;
  readonly input: string;
  readonly escalationId: string;
}

/** The form and the answer; `tail` names the endpoint, encoded. */
export function TryPanel(props: { readonly tail: string; readonly impact: unknown }): VNode {
  const path = `/api/try/${props.tail}`;
  const { data, error, reload } = useApi<TryOffer>(path);
  if (data === undefined) return html`<${Pending} error=${error} reload=${reload} />`;
  if (data.agents.length === 0) {
    return html`<p class="quiet">This server has no agent that you could speak for.</p>`;
  }
  return html`<${TryForm} path=${path} offer=${data} impact=${props.impact} />`;
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
  const change = (changed: Partial<Form>): void => setForm({ ...form, ...changed });
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const input = parsed(form.input);
    setFault(input === undefined ? "The input must be a JSON object." : undefined);
    if (input === undefined || isBusy) return;
    setBusy(true);
    try {
      const { agentId: agent_id, escalationId } = form;
      const presented = escalationId === "" ? {} : { escalation_id: escalationId.trim() };
      const got = await post<TryAnswer>(path, { agent_id, input, ...presented });
      setAnswer(got);
      change({ escalationId: waitingIn(got) ?? form.escalationId });
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
    ${answer !== undefined && html`<${TryResult} answer=${answer} />`}`;
}

/** An agent that may act is there first. */
function firstForm({ agents, input }: TryOffer): Form {
  const first = agents.find(({ status }) => status === "active") ?? agents[0];
  const agentId = first?.agent_id ?? "";
  return { agentId, input: editableJson(input), escalationId: "" };
}

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text.trim() === "" ? "{}" : text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The escalation that the call waits for. */
function waitingIn({ status, body }: TryAnswer): string | undefined {
  const id = status === 262 && isObject(body) ? body["escalation_id"] : undefined;
  return typeof id === "string" ? id : undefined;
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

/** The answer: status, way through the gates, record, and body as text. */
function TryResult({ answer }: { readonly answer: TryAnswer }): VNode {
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
