/**
 * Runs that wait for a word, as escalations of the agent that was not sure: operators see them in the
 * one queue they have, and CONFIRM of either answers both.   OpenWOP RFC 0002 §F, AGTP "ESCALATE"
 */

import { isRecord } from "../base/json-value.ts";
import { TaskQueue } from "../base/task-queue.ts";
import type { Confirmable } from "../dispatch/confirmable.ts";
import { readConfirmation } from "../dispatch/confirmation.ts";
import { escalationEvent } from "../dispatch/escalation-events.ts";
import type { Refusal } from "../dispatch/refusal.ts";
import type { RecordStreamEvents } from "../dispatch/stream-events.ts";
import type { HandlerResult } from "../handlers/handler.ts";
import { sha256Hex } from "../identity/canonical-form.ts";
import { uuidv7 } from "../identity/uuid.ts";
import { isOver, type Run } from "../modules/openwop/runs/run.ts";
import type { RunCaller } from "../modules/openwop/runs/run-caller.ts";
import type { RunHost } from "../modules/openwop/runs/run-host.ts";
import { isRefused } from "../modules/openwop/runs/run-refusal.ts";
import { openInterrupt } from "../modules/openwop/runs/run-snapshot.ts";
import type { Interrupt } from "../modules/openwop/runs/run-state.ts";
import type { RunWatcher } from "../modules/openwop/runs/run-worker.ts";
import { isRejection } from "../modules/openwop/runs/verdict.ts";
import { plainWord, type Word } from "../modules/openwop/runs/word.ts";
import { type Escalation, isOpen } from "../state/escalation.ts";
import type { EscalationRegister } from "../state/escalation-register.ts";

/** What connects the two. */
export interface RunEscalationsOptions {
  readonly escalations: EscalationRegister;
  /** The Agent-ID of an OpenWOP agent; undefined: it has none here. */
  agtpIdOf(agentId: string, tenant: string): string | undefined;
  /** Into the stream of the agent that was not sure. */
  readonly record: RecordStreamEvents;
  /** Everybody else that takes confirmations. */
  confirmables(): readonly Confirmable[];
  onFault(error: unknown): void;
}

/** The node of a run that an escalation is about. */
interface Subject {
  readonly runId: string;
  readonly nodeId: string;
  readonly interruptId: string;
}

/** Whom no run is hidden from. */
const OVERSEER: RunCaller = {
  owner: { tenant: "", principal: "operator", scopes: [] },
  sees: "all",
};
const DEADLINE_MS = 30 * 24 * 3_600_000;

export class RunEscalations implements RunWatcher, Confirmable {
  readonly #options: RunEscalationsOptions;
  readonly #steps = new TaskQueue();
  #host: RunHost | undefined;
  /** Whether there was no room for one: it is opened as soon as there is. */
  #isBehind = false;

  constructor(options: RunEscalationsOptions) {
    this.#options = options;
  }

  /** Whose runs these are. */
  serve(host: RunHost): void {
    this.#host = host;
  }

  /** Takes up what an earlier process did not get to. */
  async start(): Promise<void> {
    const { escalations, onFault } = this.#options;
    try {
      for (const escalation of escalations.list()) {
        await this.#pass(escalation);
        await this.#settle(escalation);
      }
      await this.#steps.run(() => this.#openAll());
    } catch (error) {
      onFault(error);
    }
  }

  waiting(run: Run, interrupt: Interrupt): void {
    this.#inOrder(() => this.#open(run, interrupt));
  }

  over(run: Run, { nodeId, interruptId }: Interrupt, word: Word | undefined): void {
    const about = { runId: run.runId, nodeId, interruptId };
    this.#inOrder(async () => {
      await this.#close(about, word);
      if (this.#isBehind) await this.#openAll();
    });
  }

  /** One interrupt is looked for and opened before the next. */
  #inOrder(step: () => Promise<void>): void {
    void this.#steps.run(step).catch(this.#options.onFault);
  }

  /** Opens what is not open yet. */
  async #openAll(): Promise<void> {
    this.#isBehind = false;
    for (const log of (await this.#host?.waiting()) ?? []) {
      const interrupt = openInterrupt(log.state);
      if (interrupt !== undefined) await this.#open(log.run, interrupt);
    }
  }

  /** Whoever keeps the escalation takes the word; then the run has its answer. */
  async confirm(
    ...[call, exchange]: Parameters<Confirmable["confirm"]>
  ): Promise<HandlerResult | Refusal | undefined> {
    const confirmation = readConfirmation(call);
    if ("kind" in confirmation) return undefined;
    const before = this.#options.escalations.find(confirmation.targetId);
    if (before === undefined || subjectOf(before) === undefined) return undefined;
    for (const confirmable of this.#options.confirmables()) {
      if (confirmable === this) continue;
      const answer = await confirmable.confirm(call, exchange);
      if (answer === undefined) continue;
      const after = this.#options.escalations.find(before.escalationId);
      if (after !== undefined) await this.#pass(after);
      return answer;
    }
    return undefined;
  }

  async #open(run: Run, interrupt: Interrupt): Promise<void> {
    const { escalations } = this.#options;
    const { nodeId, interruptId, data } = interrupt;
    const agentId = this.#askerOf(run, interrupt);
    const about: Subject = { runId: run.runId, nodeId, interruptId };
    if (agentId === undefined || this.#find(about) !== undefined) return;
    const opening = await escalations.open({
      ...{ agentId, priority: "normal" },
      reason: interrupt.kind === "approval" ? "scope_limit" : "confidence_threshold",
      context: { openwop_run: about, workflow_id: run.workflow.id, ...data },
      deadlineAt: Date.now() + DEADLINE_MS,
      fingerprint: markOf(interruptId),
    });
    if (opening.kind === "full") this.#isBehind = true;
  }

  /** Whose escalation it is: the agent's that was not sure, or that must not go on by itself. */
  #askerOf({ owner }: Run, { kind, data }: Interrupt): string | undefined {
    switch (kind) {
      case "low-confidence":
        return this.#options.agtpIdOf(String(data["agentId"]), owner.tenant);
      case "approval":
        return owner.agentId;
      // A yes or a no answers no question.
      case "clarification":
        return undefined;
    }
  }

  /** The run has its answer, or needs none: nobody has to look any more. */
  async #close(about: Subject, word: Word | undefined): Promise<void> {
    const escalation = this.#find(about);
    if (escalation === undefined || escalation.status === "expired") return;
    const reason = word === undefined ? "the run was cancelled" : `answered by ${word.by}`;
    const isRejected = word === undefined || isRejection(word.resumeValue);
    await this.#decide(escalation, isRejected ? "rejected" : "accepted", reason);
  }

  /** The run has its answer, and an earlier process did not get to say so here. */
  async #settle(escalation: Escalation): Promise<void> {
    const about = subjectOf(escalation);
    if (about === undefined || !isOpen(escalation, Date.now())) return;
    const log = await this.#host?.find(about.runId, OVERSEER);
    if (log === undefined) return;
    if (isRefused(log)) return this.#decide(escalation, "rejected", "the run is there no more");
    const { interrupts, nodes, status } = log.state;
    const isWaited = interrupts[about.nodeId]?.isResolved === false && !isOver(status);
    if (isWaited && interrupts[about.nodeId]?.interruptId === about.interruptId) return;
    const isDone = nodes[about.nodeId]?.status === "completed";
    await this.#decide(escalation, isDone ? "accepted" : "rejected", "answered where it waited");
  }

  async #decide(
    { escalationId }: Escalation,
    status: "accepted" | "rejected",
    reason: string,
  ): Promise<void> {
    const decision = { attestationId: `att-${uuidv7()}`, at: Date.now(), status, reason };
    const { escalations, record } = this.#options;
    const outcome = await escalations.decide(escalationId, { ...decision, authority: "operator" });
    if (outcome.kind !== "decided") return;
    await record([escalationEvent("escalation_decided", outcome.escalation)]);
  }

  async #pass({ agentId, decision, ...escalation }: Escalation): Promise<void> {
    const about = subjectOf(escalation);
    if (about === undefined || decision === undefined || decision.status === "deferred") return;
    const { status, reason, agentId: decider } = decision;
    const isAccepted = status === "accepted";
    const by = decider === undefined ? "operator" : `agtp:${decider}`;
    const caller = { ...OVERSEER, owner: { ...OVERSEER.owner, principal: by } };
    const log = await this.#host?.find(about.runId, caller);
    if (log === undefined || isRefused(log)) return;
    const interrupt = log.state.interrupts[about.nodeId];
    if (interrupt?.interruptId !== about.interruptId || interrupt.isResolved) return;
    const word = { resumeValue: plainWord(interrupt.kind, isAccepted, reason), by };
    await this.#host?.answer(about.runId, about.nodeId, word, caller);
  }

  #find(about: Subject): Escalation | undefined {
    return this.#options.escalations
      .list()
      .find((one) => subjectOf(one)?.interruptId === about.interruptId);
  }
}

/** No escalation that an agent writes has this fingerprint: those are digests of what it wrote. */
function markOf(interruptId: string): string {
  return sha256Hex(`openwop interrupt ${interruptId}`);
}

/** Which run an escalation is about, where it was this server that opened it. */
function subjectOf({
  context,
  fingerprint,
}: Pick<Escalation, "context" | "fingerprint">): Subject | undefined {
  const subject = isRecord(context) ? context["openwop_run"] : undefined;
  if (!isRecord(subject)) return undefined;
  const { runId, nodeId, interruptId } = subject;
  const isWhole =
    typeof runId === "string" && typeof nodeId === "string" && typeof interruptId === "string";
  const isOurs = isWhole && fingerprint === markOf(interruptId);
  return isOurs ? { runId, nodeId, interruptId } : undefined;
}
