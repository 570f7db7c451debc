/** One escalation: the call as it would run, what is new about it, who asks, and the decision. */

import type { ApprovalDetail, Decision, Escalation } from "../answers.ts";
import { CallView } from "../approvals/call-view.ts";
import { callOf, isObject, subjectOf } from "../approvals/subject.ts";
import { Badge } from "../parts/badge.ts";
import { type Action, Change } from "../parts/change.ts";
import { AgentLink, type Fact, Facts, Json, LongId, Moment, Stranger } from "../parts/facts.ts";
import { Page, Pending, Section } from "../parts/page.ts";
import { postSigned } from "../passkeys/sign.ts";
import { html, type VNode } from "../preact.ts";
import { address } from "../router.ts";
import { isOperator } from "../session.ts";
import { visible } from "../text.ts";
import { useApi } from "../use-api.ts";

/** The page at `/approvals/ID`. */
export function ApprovalPage({ id }: { readonly id: string }): VNode {
  const { data, error, reload } = useApi<ApprovalDetail>(`/api${address("approvals", id)}`);
  return html`<${Page} name="Approvals">
    <p><a href="/approvals">All approvals</a></p>
    ${
      data === undefined
        ? html`<${Pending} error=${error} thing="approval" reload=${reload} />`
        : html`<${Question} detail=${data} reload=${reload} />`
    }
  <//>`;
}

function Question(props: { readonly detail: ApprovalDetail; readonly reload: () => void }): VNode {
  const { escalation, agent, last_approved } = props.detail;
  const call = callOf(escalation);
  const isOpen = escalation.status === "pending_review" || escalation.status === "deferred";
  return html`<div class="subject"><h2><${Stranger} text=${subjectOf(escalation)} /></h2> <${Badge} word=${escalation.status} /></div>
    <div class="split">
      <div>
        ${
          call === undefined
            ? html`<${Section} title="Context"><${Json} value=${escalation.context} label="Context" /><//>`
            : html`<${CallView} call=${call} lastApproved=${last_approved} agentName=${agent?.name} isRejected=${escalation.status === "rejected"} />`
        }
      </div>
      <div class="side">
        ${isOpen && isOperator() && html`<${Decide} escalation=${escalation} reload=${props.reload} />`}
        ${isOpen && !isOperator() && html`<p class="quiet">An operator decides.</p>`}
        ${decisionOf(escalation)}
        <${Section} title="Who asks"><${Facts} facts=${askerOf(escalation, agent)} /><//>
        <${Section} title="The question"><${Facts} facts=${factsOf(escalation, isOpen)} /><//>
      </div>
    </div>`;
}

function factsOf(escalation: Escalation, isOpen: boolean): readonly Fact[] {
  const { kind, reason, priority, opened_at, escalation_id } = escalation;
  const deadline = isOpen ? escalation.deadline : undefined;
  return [
    ["Kind", kind && html`<${Stranger} text=${kind} />`],
    ["Reason", reason && visible(reason).replaceAll("_", " ")],
    ["Priority", priority && html`<${Badge} word=${priority} />`],
    ["Asked", html`<${Moment} at=${opened_at} isWhole />`],
    ["Ends", deadline && html`<${Moment} at=${deadline} isWhole />`],
    ["Escalation-ID", html`<${LongId} id=${escalation_id} />`],
  ];
}

/** The agent that asks, with its standing. */
function askerOf({ agent_id, agent_name }: Escalation, agent: ApprovalDetail["agent"]): Fact[] {
  const name = agent?.name ?? agent_name;
  const asks: Fact = ["Asked by", html`<${AgentLink} id=${agent_id} name=${name} />`];
  if (agent === null) return [asks, ["Standing", "not an agent of this server"]];
  const tier = agent.trust_tier === null ? "" : `, trust tier ${visible(agent.trust_tier)}`;
  return [asks, ["Standing", html`<${Badge} word=${agent.status} />${tier}`]];
}

function decisionOf({ decision }: Escalation): VNode | undefined {
  if (decision === undefined || decision === null) return undefined;
  const facts: readonly Fact[] = [
    ["Decision", decision.status && html`<${Badge} word=${decision.status} />`],
    ["By", personOf(decision)],
    ["When", html`<${Moment} at=${decision.timestamp} isWhole />`],
    ["Reason", decision.reason && html`<${Stranger} text=${decision.reason} />`],
  ];
  return html`<${Section} title="Decision"><${Facts} facts=${facts} /><//>`;
}

function personOf({ operator }: Decision): VNode | undefined {
  if (operator === undefined || operator === null) return undefined;
  const { name, id, via } = isObject(operator) ? operator : { id: operator };
  return html`<${Stranger} text=${name ?? id} />${via === "passkey" && ", signed with a passkey"}`;
}

function Decide(props: { readonly escalation: Escalation; readonly reload: () => void }): VNode {
  const { escalation_id } = props.escalation;
  const decide = (name: string, decision: string, tone?: "good" | "bad"): Action => ({
    name,
    done: `${name === "Approve" ? "Approved" : name === "Reject" ? "Rejected" : "Deferred"}.`,
    ...(tone && { tone }),
    run: (reason) =>
      postSigned(
        `/api${address("approvals", escalation_id)}`,
        { decision, reason },
        decision === "accepted" ? { for: "decision", escalation_id, decision } : undefined,
      ),
  });
  const actions = [
    decide("Approve", "accepted", "good"),
    decide("Reject", "rejected", "bad"),
    decide("Defer", "deferred"),
  ];
  return html`<${Section} title="Decide"><${Change} id="decision" actions=${actions} onDone=${props.reload} /><//>`;
}
