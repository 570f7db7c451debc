/** The answer to a call that was tried: status, way through the gates, record, and body as text. */
import type { TryAnswer } from "../answers.ts";
import { isObject } from "../approvals/subject.ts";
import { StatusBadge } from "../parts/badge.ts";
import { type Fact, Facts, Json, LongId, Stranger } from "../parts/facts.ts";
import { Gates } from "../parts/gates.ts";
import { html, type VNode } from "../preact.ts";
import { address } from "../router.ts";
import { millisecondsText } from "../text.ts";

/** The answer. */
export function TryResult({ answer }: { readonly answer: TryAnswer }): VNode {
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
