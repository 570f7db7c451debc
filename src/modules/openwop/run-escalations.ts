/**
 * Opens an escalation for each run that waits for an answer, in the name of the unsure agent: operators have one queue,
 * and CONFIRM of either answers both.   OpenWOP RFC 0002 §F, AGTP "ESCALATE"
 */
import type { Confirmable, Confirmed } from "../../dispatch/approvals/confirmation.ts";
import { authorityOver } from "../../dispatch/approvals/escalation-authority.ts";
import type { OperatorPolicy } from "../../dispatch/caller/operator.ts";
import type { RecordStreamEvents } from "../../dispatch/stream-events.ts";
import {
  type AskRun,
  boundedParts,
  InterruptEscalations,
  type InterruptQuestion,
  type InterruptSource,
  type InterruptVerdict,
  type QuestionKind,
  subjectOf,
} from "../../runs/interrupt-escalations.ts";
import type { Attributor } from "../../state/records/ledger.ts";
import { recordReader } from "../../state/records/stored-record.ts";
import { type Escalation, isOpen } from "../../state/registers/escalation.ts";
import type { EscalationRegister } from "../../state/registers/escalation-register.ts";
import { confirmQuestion, OVERSEER, type Subject } from "./confirm-question.ts";
import { interruptOf, outcomeIn } from "./runs/answer-run.ts";
import { isOver, isRefused, type Run, type RunRefusal } from "./runs/run.ts";
import type { RunHost } from "./runs/run-host.ts";
import type { RunLog } from "./runs/run-log.ts";
import {
  type Interrupt,
  type InterruptOutcome,
  type InterruptWatcher,
  openInterrupt,
  plainAnswer,
} from "./runs/run-state.ts";

interface RunEscalationsOptions {
  readonly host: Pick<
    RunHost,
    "watch" | "waiting" | "isWaiting" | "endOfWait" | "attend" | "find" | "answer" | "catchUp"
  >;
  readonly escalations: EscalationRegister;
  /** The Agent-ID of an OpenWOP agent; undefined if it has none here. */
  agtpIdOf(agentId: string, tenant: string): string | undefined;
  readonly policy: OperatorPolicy;
  /** Tells whether decisions can be audited. */
  readonly attributor: Pick<Attributor, "isWritable">;
  /** Appends to the audit stream of the unsure agent. */
  readonly record: RecordStreamEvents;
  onFault(error: unknown): void;
  /** Aborted when retries must end. */
  readonly ending: AbortSignal;
}

const readSubject = recordReader<Subject>({
  ...{ runId: "string", nodeId: "string", interruptId: "string" },
});

const INTERRUPTS: QuestionKind<Subject> = {
  name: "openwop",
  readSubject: ({ openwop_run: subject }) => readSubject(subject),
  // A fork's interrupt can have the same id as in its source.
  nameOf: ({ runId, interruptId, isFork }) => (isFork ? `${runId} ${interruptId}` : interruptId),
};

export class RunEscalations implements InterruptWatcher, Confirmable, InterruptSource<Subject> {
  readonly #options: RunEscalationsOptions;
  readonly #queue: InterruptEscalations<Subject>;

  constructor(options: RunEscalationsOptions) {
    const { escalations, record, onFault, ending } = options;
    this.#options = options;
    this.#queue = new InterruptEscalations({
      ...{ escalations, record, onFault, ending, kind: INTERRUPTS, source: this },
    });
  }

  /** Starts watching the host's runs, and handles those that an earlier process left. */
  start(): Promise<void> {
    this.#options.host.watch(this);
    return this.lookAgain();
  }

  /** Handles runs that another process left unhandled. */
  lookAgain(): Promise<void> {
    this.#queue.takeUp();
    return this.#queue.settled();
  }

  /** Opens the escalation of a waiting run, or updates its votes. */
  onInterrupt(run: Run, interrupt: Interrupt): void {
    this.#queue.ask(async () => this.#questionOf(run, interrupt));
  }

  /** Decides the escalation of a run that was answered or cancelled. */
  onAnswer(run: Run, interrupt: Interrupt, outcome: InterruptOutcome | undefined): void {
    void this.#answered(subjectAt(run, interrupt), verdictOf(outcome));
  }

  onDoubt(): void {
    this.#queue.doubt();
  }

  /** Answers the run and decides the escalation by what it accepted. */
  async confirm(...[confirmation, source]: Parameters<Confirmable["confirm"]>): Confirmed {
    const { escalations, policy, attributor, host, record } = this.#options;
    const escalation = escalations.find(confirmation.targetId);
    const subject = escalation && subjectOf(INTERRUPTS, escalation);
    if (escalation === undefined || subject === undefined) return undefined;
    const authority = authorityOver(escalation, source.exchange, policy);
    // The generic CONFIRM handler refuses, defers, and reports an earlier decision.
    if (typeof authority !== "string" || !attributor.isWritable) return undefined;
    if (!isOpen(escalation) || confirmation.status === "deferred") return undefined;
    const parts = {
      ...{ host, policy, record },
      decide: (verdict: InterruptVerdict) => this.#answered(subject, verdict),
      settled: () => this.#queue.settled(),
      findEscalation: (escalationId: string) => escalations.find(escalationId),
    };
    const word = { escalation, subject, authority, confirmation, source };
    // The run may have just begun to wait on another node.
    await host.catchUp();
    const answer = await confirmQuestion(parts, word);
    if (answer !== undefined) return answer;
    const verdict = await this.verdictOn(subject);
    if (verdict !== undefined) await this.#answered(subject, verdict);
    return undefined;
  }

  waiting(): readonly AskRun[] {
    const { host } = this.#options;
    return host.waiting().map(({ runId }) => async () => {
      const log = await host.attend(runId);
      const interrupt = log && openInterrupt(log.state);
      return interrupt && this.#questionOf(log.run, interrupt);
    });
  }

  catchUp(): Promise<void> {
    return this.#options.host.catchUp();
  }

  /** Answers the run of a decided escalation: earlier versions decided it before answering the run. */
  async takeUp(escalation: Escalation, subject: Subject): Promise<void> {
    // Checks the run's entry first, since almost all are answered and their logs need not be read.
    if (this.#options.host.isWaiting(subject.runId)) await this.#answerRun(escalation, subject);
  }

  async verdictOn(subject: Subject): Promise<InterruptVerdict | undefined> {
    const { host } = this.#options;
    if (isAskedBy(await host.find(subject.runId, OVERSEER), subject)) return undefined;
    // The escalation may arrive here before the run that opened it.
    await host.catchUp();
    const log = await host.find(subject.runId, OVERSEER);
    if (isRefused(log)) return rejected("the run is there no more");
    if (isAskedBy(log, subject)) return undefined;
    for await (const event of log.eventsBehind(-1)) {
      const outcome = outcomeIn(event, subject.interruptId);
      if (outcome !== undefined) return verdictOf(outcome);
    }
    return verdictOf(undefined);
  }

  #answered(subject: Subject, verdict: InterruptVerdict): Promise<string | undefined> {
    return this.#queue.answered(INTERRUPTS.nameOf(subject), verdict);
  }

  #questionOf(run: Run, interrupt: Interrupt): InterruptQuestion | undefined {
    const { data, votes } = interrupt;
    const agentId = this.#askerOf(run, interrupt);
    if (agentId === undefined) return undefined;
    const about = subjectAt(run, interrupt);
    return {
      ...{ name: INTERRUPTS.nameOf(about), votes },
      request: {
        ...{ agentId, priority: "normal" },
        reason: interrupt.kind === "approval" ? "scope_limit" : "confidence_threshold",
        context: { openwop_run: about, workflow_id: run.workflow.id, ...boundedParts(data) },
        deadlineAt: this.#options.host.endOfWait(interrupt),
      },
    };
  }

  /** The Agent-ID of the agent that is unsure or needs approval. */
  #askerOf({ owner }: Run, { kind, data }: Interrupt): string | undefined {
    switch (kind) {
      case "low-confidence":
        return this.#options.agtpIdOf(String(data["agentId"]), owner.tenant);
      case "approval":
        return owner.agentId;
      // A yes or no cannot answer a clarification, so no escalation is opened.
      case "clarification":
        return undefined;
    }
  }

  async #answerRun({ escalationId, decision }: Escalation, subject: Subject): Promise<void> {
    if (decision === undefined || decision.status === "deferred") return;
    const { status, reason, agentId, operator } = decision;
    const { runId, nodeId, interruptId } = subject;
    const { host } = this.#options;
    const log = await host.find(runId, OVERSEER);
    const asked = isRefused(log) ? undefined : interruptOf(log.state, nodeId);
    if (asked?.interruptId !== interruptId || asked.isResolved) return;
    const agents = agentId === undefined ? [] : [`agtp:${agentId}`];
    const by = operator === undefined ? (agents[0] ?? "operator") : `operator:${operator.id}`;
    const resumeValue = plainAnswer(asked.kind, status === "accepted", reason);
    const answer = { resumeValue, by, alsoKnownAs: ["operator", ...agents], interruptId };
    const caller = { ...OVERSEER, owner: { ...OVERSEER.owner, principal: by } };
    const answered = await host.answer(runId, nodeId, answer, caller);
    if (!isRefused(answered) || answered.code === "interrupt_already_resolved") return;
    const { onFault } = this.#options;
    onFault(new Error(`the run ${runId} does not take what ${escalationId} was decided`));
  }
}

function isAskedBy(log: RunLog | RunRefusal, { nodeId, interruptId }: Subject): boolean {
  if (isRefused(log) || isOver(log.state.status)) return false;
  const interrupt = interruptOf(log.state, nodeId);
  return interrupt?.isResolved === false && interrupt.interruptId === interruptId;
}

function subjectAt({ runId, source }: Run, { nodeId, interruptId }: Interrupt): Subject {
  return { runId, nodeId, interruptId, ...(source === undefined ? {} : { isFork: true }) };
}

/** The verdict that a run's outcome implies; undefined means that it ended unanswered. */
function verdictOf(outcome: InterruptOutcome | undefined): InterruptVerdict {
  if (outcome === undefined) return rejected("the run has ended without an answer");
  const { isAccepted, by } = outcome;
  const reason = `answered by ${by}`;
  return { status: isAccepted ? "accepted" : "rejected", reason, authority: "operator" };
}

function rejected(reason: string): InterruptVerdict {
  return { status: "rejected", reason, authority: "operator" };
}
