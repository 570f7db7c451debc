/** Approvals: waiting escalations and recent decisions; contracts and their withdrawal. */
import type {
  ApprovalDetail,
  ApprovalList,
  Contract,
  Decision,
  Escalation,
} from "../../answers.ts";
import { isOperator, post, useApi } from "../api.ts";
import { useDraft } from "../drafts.ts";
import { useEvents } from "../events.ts";
import {
  type ApprovedCall,
  CallView,
  callOf,
  isObject,
  lossIn,
  objectIn,
  subjectOf,
} from "../parts/call-view.ts";
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
  Until,
} from "../parts/facts.ts";
import { answerPage, loaded, Page, Section } from "../parts/page.ts";
import { type Column, Table } from "../parts/table.ts";
import { type Answer, postDecision } from "../passkeys.ts";
import { html, type VNode } from "../preact.ts";
import { address } from "../router.ts";
import { shortId, visible } from "../text.ts";

const SUBJECT: Column<Escalation> = [
  "Question",
  (one) =>
    html`<a href=${address("approvals", one.escalation_id)}><${Stranger} text=${subjectOf(one)} /></a>`,
];
const AGENT: Column<Escalation> = [
  "Agent",
  (one) => html`<${AgentLink} id=${one.agent_id} name=${one.agent_name} />`,
];
const WAITING: readonly Column<Escalation>[] = [
  SUBJECT,
  AGENT,
  ["Priority", ({ priority }) => priority && html`<${Badge} word=${priority} />`],
  ["Asked", (one) => html`<${Moment} at=${one.opened_at} />`, "optional"],
  ["Ends", ({ deadline }) => html`<${Until} at=${deadline} />`],
];
const DECIDED: readonly Column<Escalation>[] = [
  SUBJECT,
  AGENT,
  ["Decision", ({ status }) => html`<${Badge} word=${status} />`],
  ["When", ({ decision }) => html`<${Moment} at=${decision?.timestamp} />`],
];

const NOTHING_WAITS =
  'Nothing waits for a decision. Calls do whose endpoint has approval = "operator", or that a rule of [[policies.approvals]] names.';

/** The page at `/approvals`. */
export function ApprovalsPage(): VNode {
  const answer = useApi<ApprovalList>("/api/approvals");
  useEvents("approvals", answer.reload);
  return html`<${Page} name="Approvals">
    ${loaded(
      answer,
      (data) => html`<${Section} title="Waiting">
            <${Table} label="Waiting" columns=${WAITING} rows=${data.waiting} keyOf=${idOf} nameOf=${subjectOf} empty=${NOTHING_WAITS} />
          <//>
          <${Section} title="Decided">
            <${Table} label="Decided" columns=${DECIDED} rows=${data.decided} keyOf=${idOf} nameOf=${subjectOf} empty="Nothing was decided yet." />
          <//>`,
    )}
  <//>`;
}

function idOf({ escalation_id }: Escalation): string {
  return escalation_id;
}

/** The page at `/approvals/ID`. */
export function ApprovalPage({ id }: { readonly id: string }): VNode {
  const answer = useApi<ApprovalDetail>(`/api${address("approvals", id)}`);
  // Another person may decide it meanwhile.
  useEvents("approvals", answer.reload);
  return html`<${Page} name="Approvals"><p><a href="/approvals">All approvals</a></p>
    ${loaded(answer, questionOf, "approval")}<//>`;
}

function questionOf(
  { escalation, agent, last_approved }: ApprovalDetail,
  reload: () => void,
): VNode {
  const call = callOf(escalation);
  const isOpen = escalation.status === "pending_review" || escalation.status === "deferred";
  return html`<div class="subject"><h2><${Stranger} text=${subjectOf(escalation)} /></h2> <${Badge} word=${escalation.status} /></div>
    <div class="split">
      <div>
        ${isAsking(escalation) && askedBack(escalation)}
        ${
          call === undefined
            ? html`<${Section} title="Context"><${Json} value=${escalation.context} label="Context" /><//>`
            : html`<${CallView} call=${call} lastApproved=${last_approved} agentName=${agent?.name} isOver=${escalation.status === "rejected" || escalation.used_at !== undefined} />`
        }
      </div>
      <div class="side">
        ${isOpen && isOperator() && html`<${Decide} escalation=${escalation} reload=${reload} />`}
        ${isOpen && !isOperator() && html`<p class="quiet">An operator decides.</p>`}
        ${votesOf(escalation)}
        ${decisionOf(escalation)}
        ${isUsable(escalation, call) && isOperator() && html`<${TakeBack} escalation=${escalation} reload=${reload} />`}
        <${Section} title="Who asks"><${Facts} facts=${askerOf(escalation, agent)} /><//>
        <${Section} title="The question"><${Facts} facts=${factsOf(escalation, isOpen)} /><//>
      </div>
    </div>`;
}

/** True if a call may still be made under its approval. */
function isUsable({ status, used_at }: Escalation, call: ApprovedCall | undefined): boolean {
  if (call === undefined || status !== "accepted" || used_at !== undefined) return false;
  return Date.parse(String(call["expires_at"])) > Date.now();
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

/** The requesting agent and its status. */
function askerOf(escalation: Escalation, agent: ApprovalDetail["agent"]): Fact[] {
  const { agent_id, agent_name, delegated_by = [] } = escalation;
  const name = agent?.name ?? agent_name;
  const asks: Fact[] = [
    ["Asked by", html`<${AgentLink} id=${agent_id} name=${name} />`],
    ...delegated_by.map((id): Fact => ["On behalf of", html`<${AgentLink} id=${id} />`]),
  ];
  if (agent === null) return [...asks, ["Standing", "not an agent of this server"]];
  const tier = agent.trust_tier === null ? "" : `, trust tier ${visible(agent.trust_tier)}`;
  return [...asks, ["Standing", html`<${Badge} word=${agent.status} />${tier}`]];
}

/** The votes so far, if more are needed. */
function votesOf({ votes = [] }: Escalation): VNode | undefined {
  if (votes.length === 0) return undefined;
  return html`<${Section} title="Votes"><ul>
    ${votes.map(({ by, action }) => html`<li key=${by}><${Stranger} text=${by} />: <${Badge} word=${action} /></li>`)}
  </ul><//>`;
}

function decisionOf({ decision, used_at: usedAt }: Escalation): VNode | undefined {
  if (decision === undefined || decision === null) return undefined;
  const facts: readonly Fact[] = [
    ["Decision", decision.status && html`<${Badge} word=${decision.status} />`],
    ["By", personOf(decision)],
    ["When", html`<${Moment} at=${decision.timestamp} isWhole />`],
    ["Reason", decision.reason && html`<${Stranger} text=${decision.reason} />`],
    ["Used", usedAt && html`<${Moment} at=${usedAt} isWhole />`],
  ];
  return html`<${Section} title="Decision"><${Facts} facts=${facts} /><//>`;
}

function personOf({ operator }: Decision): VNode | undefined {
  if (operator === undefined || operator === null) return undefined;
  const { name, id, via } = isObject(operator) ? operator : { id: operator };
  return html`<${Stranger} text=${name ?? id} />${via === "passkey" && ", signed with a passkey"}`;
}

/** True if an upstream asks a question in its call, which needs an answer besides the approval. */
function isAsking({ kind }: Escalation): boolean {
  return kind === "elicitation";
}

/** The upstream's question; viewers do not see it. */
function askedBack({ context }: Escalation): VNode {
  const { upstream, message, requested_schema: schema } = isObject(context) ? context : {};
  const words: readonly Fact[] = [
    ["Upstream", upstream !== undefined && html`<${Stranger} text=${upstream} />`],
    ["Question", message !== undefined && html`<${Stranger} text=${message} />`],
  ];
  if (message === undefined) return html`<p class="quiet">Operators see what is asked.</p>`;
  return html`<${Section} title="What the upstream asks"><${Facts} facts=${words} /><${Json} value=${schema} label="Schema of the answer" /><//>`;
}

/** The answer that a decision needs. */
interface Asked {
  readonly name: keyof Answer;
  /** The decisions that carry the answer. */
  readonly with: readonly string[];
  readonly label: string;
  readonly schema?: unknown;
}

const WITH_VERDICT = { name: "resume_value", with: ["accepted", "rejected"] } as const;

/** The answer to ask for; undefined if the decision suffices. The question of a run is in its context. */
function askedOf(escalation: Escalation): Asked | undefined {
  if (isAsking(escalation))
    return { name: "content", with: ["accepted"], label: "Answer, in JSON" };
  const {
    kind,
    openwop_run,
    resume_schema: schema,
  } = isObject(escalation.context) ? escalation.context : {};
  if (kind === "agntcy.interrupt") return { ...WITH_VERDICT, label: "Answer, in JSON", schema };
  if (openwop_run === undefined) return undefined;
  return { ...WITH_VERDICT, label: "Answer, in JSON; empty for a plain yes or no" };
}

interface Word {
  readonly escalation: Escalation;
  readonly decision: string;
  readonly reason: string;
  readonly answer: Answer;
}

function decide({ reason, ...decided }: Word): Promise<unknown> {
  const { escalation_id } = decided.escalation;
  const { decision } = decided;
  const path = `/api${address("approvals", escalation_id)}`;
  return postDecision(path, { decision, reason }, { escalation_id, ...decided });
}

function Decide(props: { readonly escalation: Escalation; readonly reload: () => void }): VNode {
  const { escalation, reload } = props;
  const asked = askedOf(escalation);
  const first = isAsking(escalation) ? "{}" : "";
  const [written, setWritten] = useDraft("answer", first);
  const run = async (decision: string, reason: string): Promise<void> => {
    const isAnswered = asked?.with.includes(decision) === true;
    const answer = isAnswered ? answerIn(asked, written) : {};
    await decide({ escalation, decision, reason, answer });
    if (isAnswered) setWritten(first);
  };
  const action = (name: string, decision: string, done: string, tone?: "good" | "bad"): Action => ({
    ...{ name, done, run: (reason) => run(decision, reason) },
    ...(tone && { tone }),
  });
  const actions = [
    action("Approve", "accepted", "Approved.", "good"),
    action("Reject", "rejected", "Rejected.", "bad"),
    action("Defer", "deferred", "Deferred."),
  ];
  return html`<${Section} title="Decide">
    ${asked?.schema !== undefined && html`<${Json} value=${asked.schema} label="Schema of the answer" />`}
    ${
      asked !== undefined &&
      html`<label class="field" for="answer">${asked.label}
        <textarea id="answer" class="code-field" rows="4" spellcheck=${false} value=${written}
          onInput=${(event: Event) => setWritten((event.target as HTMLTextAreaElement).value)}></textarea>
      </label>`
    }
    <${Change} id="decision" actions=${actions} onDone=${reload} />
  <//>`;
}

/** Withdraws an approval that is not used yet. */
function TakeBack(props: { readonly escalation: Escalation; readonly reload: () => void }): VNode {
  const { escalation, reload } = props;
  const action: Action = {
    ...{ name: "Take back", done: "Taken back.", tone: "bad" },
    run: (reason) => decide({ escalation, decision: "rejected", reason, answer: {} }),
    confirm: "Take this approval back? The call is refused from then on.",
  };
  return html`<${Section} title="Not used yet"><${Change} id="decision" actions=${[action]} onDone=${reload} /><//>`;
}

/** Parses the answer that a person wrote. @throws Error if it is invalid */
function answerIn({ name }: Asked, text: string): Answer {
  const loss = lossIn(text);
  if (loss !== undefined) throw new Error(loss);
  if (name === "content") {
    const content = objectIn(text);
    if (content === undefined) throw new Error("the answer is no JSON object");
    return { content };
  }
  if (text.trim() === "") return {};
  try {
    return { resume_value: JSON.parse(text) };
  } catch {
    throw new Error("the answer is no JSON");
  }
}

const COLUMNS: readonly Column<Contract>[] = [
  [
    "Contract",
    ({ synthesis_id }) =>
      html`<code title=${visible(synthesis_id)}>${shortId(synthesis_id)}</code>`,
  ],
  [
    "Serves",
    ({ method, path }) => html`<${Stranger} text=${method} /> <${Stranger} text=${path} />`,
  ],
  ["Does", ({ description }) => html`<${Stranger} text=${description} />`, "optional"],
  ["Agent", ({ agent_id }) => html`<${AgentLink} id=${agent_id} />`],
  ["Status", ({ status }) => html`<${Badge} word=${status} />`],
  ["Made", ({ created_at }) => html`<${Moment} at=${created_at} />`, "optional"],
  ["Ends", ({ expires_at }) => html`<${Moment} at=${expires_at} />`],
];

/** Final statuses of contracts. */
const OVER: ReadonlySet<string> = new Set(["withdrawn", "revoked", "expired", "superseded"]);

/** The page at `/contracts`. */
export function ContractsPage(): VNode {
  return answerPage("Contracts", "/api/contracts", contractsOf);
}

function contractsOf(
  { contracts }: { readonly contracts: readonly Contract[] },
  reload: () => void,
): VNode {
  const withdrawal: Column<Contract> = [
    "Change",
    (contract) => html`<${Withdraw} contract=${contract} reload=${reload} />`,
  ];
  return html`<${Table} label="Contracts" columns=${isOperator() ? [...COLUMNS, withdrawal] : COLUMNS}
    rows=${contracts} keyOf=${({ synthesis_id }: Contract) => synthesis_id} nameOf=${({ method, path }: Contract) => `${method} ${path}`}
    empty="No agent has negotiated a contract. With enabled = true under [policies.rcns], agents propose what the recipes under recipes/ allow." />`;
}

function Withdraw(props: { readonly contract: Contract; readonly reload: () => void }): VNode {
  const { contract, reload } = props;
  const { synthesis_id, status } = contract;
  if (OVER.has(status)) return html`<span>–</span>`;
  const action = {
    name: "Withdraw",
    run: (reason: string) =>
      post(`/api${address("contracts", synthesis_id)}`, { action: "withdraw", reason }),
    done: "The contract is withdrawn.",
    confirm: "Withdraw the contract? Calls under it are refused from now on.",
    tone: "bad",
  };
  return html`<${Change} id=${synthesis_id} actions=${[action]} onDone=${reload} />`;
}
