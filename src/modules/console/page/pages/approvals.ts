/** Approvals: what waits for a decision, and what was decided of late. */
import type { ApprovalList, Escalation } from "../answers.ts";
import { subjectOf } from "../approvals/subject.ts";
import { useEvents } from "../events.ts";
import { Badge } from "../parts/badge.ts";
import { AgentLink, Moment, Stranger } from "../parts/facts.ts";
import { Page, Pending, Section } from "../parts/page.ts";
import { Table } from "../parts/table.ts";
import { html, type VNode } from "../preact.ts";
import { address } from "../router.ts";
import { untilText } from "../text.ts";
import { useApi } from "../use-api.ts";

const SUBJECT = {
  title: "Question",
  cell: (one: Escalation) =>
    html`<a href=${address("approvals", one.escalation_id)}><${Stranger} text=${subjectOf(one)} /></a>`,
};
const AGENT = {
  title: "Agent",
  cell: (one: Escalation) => html`<${AgentLink} id=${one.agent_id} name=${one.agent_name} />`,
};
const WAITING = [
  SUBJECT,
  AGENT,
  {
    title: "Priority",
    cell: ({ priority }: Escalation) => priority && html`<${Badge} word=${priority} />`,
  },
  {
    title: "Asked",
    kind: "optional",
    cell: (one: Escalation) => html`<${Moment} at=${one.opened_at} />`,
  },
  { title: "Ends", cell: ({ deadline }: Escalation) => untilText(deadline) },
];
const DECIDED = [
  SUBJECT,
  AGENT,
  { title: "Decision", cell: ({ status }: Escalation) => html`<${Badge} word=${status} />` },
  {
    title: "When",
    cell: ({ decision }: Escalation) => html`<${Moment} at=${decision?.timestamp} />`,
  },
];

const NOTHING_WAITS =
  'Nothing waits for a decision. Calls do whose endpoint has approval = "operator", or that a rule of [[policies.approvals]] names.';

/** The page at `/approvals`. */
export function ApprovalsPage(): VNode {
  const { data, error, reload } = useApi<ApprovalList>("/api/approvals");
  useEvents("approvals", reload);
  return html`<${Page} name="Approvals">
    ${
      data === undefined
        ? html`<${Pending} error=${error} reload=${reload} />`
        : html`<${Section} title="Waiting">
            <${Table} label="Waiting" columns=${WAITING} rows=${data.waiting} keyOf=${idOf} empty=${NOTHING_WAITS} />
          <//>
          <${Section} title="Decided">
            <${Table} label="Decided" columns=${DECIDED} rows=${data.decided} keyOf=${idOf} empty="Nothing was decided yet." />
          <//>`
    }
  <//>`;
}

function idOf({ escalation_id }: Escalation): string {
  return escalation_id;
}
