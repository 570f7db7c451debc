/**
 * Opens an escalation for each interrupt of a run, and decides it with the run. People answer; the agent that began the
 * run may do so if the manifest's interrupt asks it and the operator permits.   AGTP "ESCALATE", "CONFIRM"
 */
import { given } from "../../../base/json-value.ts";
import { authorityOver } from "../../../dispatch/approvals/escalation-authority.ts";
import { type OperatorPolicy, operatorOf } from "../../../dispatch/caller/operator.ts";
import { isOwnMatter } from "../../../dispatch/caller/own-matter.ts";
import type { QueryCaller } from "../../../dispatch/module/query-source.ts";
import type { Refusal } from "../../../dispatch/refusals/refusal.ts";
import { confirmationForbidden } from "../../../dispatch/refusals/task-refusals.ts";
import type { CausingRequest, RecordStreamEvents } from "../../../dispatch/stream-events.ts";
import {
  type AskRun,
  boundedParts,
  InterruptEscalations,
  type InterruptQuestion,
  type InterruptSource,
  type InterruptVerdict,
  type QuestionKind,
} from "../../../runs/interrupt-escalations.ts";
import type { Decision, Escalation } from "../../../state/registers/escalation.ts";
import type { EscalationRegister } from "../../../state/registers/escalation-register.ts";
import type { Operator } from "../../../state/registers/operator.ts";
import type { RemoteAgent } from "../remote-agent.ts";
import type { AgentRuns } from "../runs/agent-runs.ts";
import type { AgentRun, RunResult } from "../runs/run.ts";

/** The decision that accompanies an answer. */
export interface Approval extends InterruptVerdict {
  readonly cause: CausingRequest;
}

/** Approvals in flight to an agent's server, by interrupt; kept across reloads. */
export type ApprovalsUnderWay = Map<string, Approval>;

interface DeskOptions {
  readonly register: AgentRuns;
  readonly escalations: EscalationRegister;
  readonly approvals: ApprovalsUnderWay;
  readonly policy: OperatorPolicy;
  onFault(error: unknown): void;
}

/** The parts that exist only once a deployment is served. */
interface DeskService {
  readonly agents: readonly RemoteAgent[];
  /** Appends to the audit stream of the agent that began the run. */
  readonly record: RecordStreamEvents;
}

export class InterruptDesk implements InterruptSource<InterruptSubject> {
  readonly #options: DeskOptions;
  readonly #queue: InterruptEscalations<InterruptSubject>;
  #agents: ReadonlyMap<string, RemoteAgent> = new Map();
  #record: RecordStreamEvents = () => Promise.resolve([]);
  #unwatch = (): void => undefined;
  #forgetGone: () => void = () => undefined;
  readonly #ending = new AbortController();

  constructor(options: DeskOptions) {
    const { escalations, onFault } = options;
    this.#options = options;
    this.#queue = new InterruptEscalations({
      ...{ escalations, kind: INTERRUPTS, source: this, onFault, ending: this.#ending.signal },
      record: (...events) => this.#record(...events),
    });
  }

  /** Starts opening and deciding escalations, beginning with missed changes. */
  start({ agents, record }: DeskService): void {
    this.#agents = new Map(agents.map((agent) => [agent.base, agent]));
    this.#record = record;
    this.#unwatch = this.#options.register.watch((before, after) => this.#changed(before, after));
    this.#queue.takeUp();
    this.#forgetGone = this.#options.register.onGone(() => this.#queue.takeUp());
  }

  /** Stops; the next desk handles the rest. */
  async close(): Promise<void> {
    this.#ending.abort();
    this.#unwatch();
    this.#forgetGone();
    await this.settled();
  }

  /** Resolves once every change so far is reflected in the escalations. */
  settled(): Promise<void> {
    return this.#queue.settled();
  }

  /** The escalation of a run's open interrupt. */
  async escalationOf({ interrupt }: AgentRun): Promise<Escalation | undefined> {
    if (interrupt === undefined) return undefined;
    await this.settled();
    return this.#queue.find(interrupt.interruptId);
  }

  /** Returns the authority by which a caller may answer a run, or the refusal. */
  authorityOver(
    run: AgentRun,
    { manifest, agentAnswers }: Pick<RemoteAgent, "manifest" | "agentAnswers">,
    asker: QueryCaller,
  ): Decision["authority"] | Refusal {
    const { owner, delegatedBy, interrupt } = run;
    if (asker.caller.agentId === owner) {
      const asked = manifest.specs.interrupts.find(({ type }) => type === interrupt?.type);
      const isAsked = agentAnswers && asked?.asksAgent === true;
      if (isAsked && isOwnMatter(run, asker)) return "recipient";
      return confirmationForbidden(
        "what the run asks is for people to answer, not for the agent that began the run",
      );
    }
    const escalation = interrupt && this.#queue.find(interrupt.interruptId);
    const asIfOpened = { agentId: owner, ...given({ delegatedBy }) } as Escalation;
    return authorityOver(escalation ?? asIfOpened, asker, this.#options.policy);
  }

  /** The operator behind a request, or undefined. */
  operatorOf({ peer }: Pick<QueryCaller, "peer">): Operator | undefined {
    return operatorOf(peer, this.#options.policy);
  }

  /** Records the approval until its effect is known; the returned function removes it. */
  note(interruptId: string, approval: Approval): () => void {
    const { approvals } = this.#options;
    approvals.set(interruptId, approval);
    return () => {
      if (approvals.get(interruptId) === approval) approvals.delete(interruptId);
    };
  }

  /** Defers the escalation. */
  async defer(interruptId: string, approval: Approval): Promise<void> {
    await this.settled();
    const escalation = this.#queue.find(interruptId);
    if (escalation !== undefined) await this.#queue.decide(escalation, approval);
  }

  waiting(): readonly AskRun[] {
    const { register } = this.#options;
    // Claimed, so that only one node opens the escalation.
    return register
      .interrupted()
      .map(
        (run) => async () =>
          (await register.claim(run.runId)) ? this.#questionOf(run) : undefined,
      );
  }

  catchUp(): Promise<void> {
    return this.#options.register.catchUp();
  }

  async verdictOn({ runId, interruptId }: InterruptSubject): Promise<InterruptVerdict | undefined> {
    const { register, approvals } = this.#options;
    const isAsked = (): boolean => register.find(runId)?.interrupt?.interruptId === interruptId;
    if (isAsked()) return undefined;
    // The escalation may arrive here before the run that opened it.
    await register.catchUp();
    if (isAsked()) return undefined;
    return approvals.get(interruptId) ?? withoutApproval(register.find(runId));
  }

  #changed(before: AgentRun, after: AgentRun | undefined): void {
    const [asked, asks] = [before.interrupt?.interruptId, after?.interrupt?.interruptId];
    if (asked === asks || !this.#options.register.isHeldHere(after ?? before)) return;
    if (asked !== undefined) {
      const approval = this.#options.approvals.get(asked);
      void this.#queue.answered(asked, approval ?? withoutApproval(after));
    }
    if (after !== undefined) this.#queue.ask(() => this.#questionOf(after));
  }

  async #questionOf({ runId, base }: AgentRun): Promise<InterruptQuestion | undefined> {
    const { register } = this.#options;
    const agent = this.#agents.get(base);
    const run = register.find(runId);
    if (agent === undefined || run?.interrupt === undefined) return undefined;
    return questionOf(run, await register.result(runId), agent, Date.now());
  }
}

/** The verdict on a run that stopped waiting without an approval here. */
function withoutApproval(run: AgentRun | undefined): InterruptVerdict {
  const isOn =
    run?.status === "pending" || run?.status === "success" || run?.interrupt !== undefined;
  const [status, reason] =
    run === undefined
      ? (["rejected", "the run is there no more"] as const)
      : isOn
        ? (["accepted", "answered where the agent runs"] as const)
        : (["rejected", `the run is over: ${run.status}`] as const);
  return { status, reason, authority: "operator" };
}

/** The interrupt that an escalation is about. */
export interface InterruptSubject {
  readonly runId: string;
  readonly interruptId: string;
}

/** As long as a waiting run is kept. */
const DEADLINE_MS = 30 * 24 * 3_600_000;
/** The kind of these escalations. */
export const INTERRUPTS: QuestionKind<InterruptSubject> = {
  name: "agntcy",
  readSubject: ({ run_id: runId, interrupt_id: interruptId }) =>
    typeof runId === "string" && typeof interruptId === "string"
      ? { runId, interruptId }
      : undefined,
  nameOf: ({ interruptId }) => interruptId,
};

/** The question that an interrupted run asks; undefined for any other run. */
function questionOf(
  run: AgentRun,
  { payload }: RunResult,
  { manifest, approverScope }: Pick<RemoteAgent, "manifest" | "approverScope">,
  now: number,
): InterruptQuestion | undefined {
  const { runId, base, owner, principalId, delegatedBy, interrupt } = run;
  if (run.status !== "interrupted" || interrupt === undefined) return undefined;
  const { interruptId, type } = interrupt;
  const asked = manifest.specs.interrupts.find((one) => one.type === type);
  return {
    name: interruptId,
    request: {
      agentId: owner,
      // The closest reason in the draft for a required approval.
      reason: "scope_limit",
      priority: "normal",
      context: {
        kind: "agntcy.interrupt",
        ...{ run_id: runId, interrupt_id: interruptId, path: `${base}/runs/${runId}` },
        ...{ agent: manifest.name, interrupt_type: type },
        ...boundedParts({ payload: payload ?? null, resume_schema: asked?.resume.schema ?? {} }),
      },
      deadlineAt: now + DEADLINE_MS,
      ...given({ approverScope, principalId, delegatedBy }),
    },
  };
}
