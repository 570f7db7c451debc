/**
 * Where the questions of runs meet those who answer them: an escalation is opened for each, and decided
 * with the run, whoever answered. People answer; the agent that began a run does where the manifest's
 * interrupt asks it and the operator lets it.   AGTP "ESCALATE", "CONFIRM"
 */

import { TaskQueue } from "../../../base/task-queue.ts";
import { authorityOver, type OperatorPolicy } from "../../../dispatch/escalation-authority.ts";
import { escalationEvent } from "../../../dispatch/escalation-events.ts";
import { confirmationForbidden } from "../../../dispatch/floor-refusals-tasks.ts";
import type { QueryCaller } from "../../../dispatch/query-source.ts";
import type { Refusal } from "../../../dispatch/refusal.ts";
import type { EventSource, RecordStreamEvents } from "../../../dispatch/stream-events.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import { type Decision, type Escalation, isOpen } from "../../../state/escalation.ts";
import type { EscalationRegister } from "../../../state/escalation-register.ts";
import type { RemoteAgent } from "../remote-agent.ts";
import type { AgentRun } from "../runs/run.ts";
import type { RunRegister } from "../runs/run-register.ts";
import { escalationRequest, markOf, subjectOf } from "./interrupt-escalation.ts";

/** What somebody says to a question. */
export interface Word extends Pick<Decision, "status" | "authority" | "reason" | "agentId"> {
  readonly attestation?: unknown;
  readonly source: EventSource;
}

/** Words on their way to an agent's server, by the question; they outlive every reload. */
export type SpokenWords = Map<string, Word>;

/** What the desk works with. */
export interface DeskOptions {
  readonly register: RunRegister;
  readonly escalations: EscalationRegister;
  readonly words: SpokenWords;
  readonly policy: OperatorPolicy;
  onFault(error: unknown): void;
}

/** What is known only when a deployment is served. */
export interface DeskService {
  readonly agents: readonly RemoteAgent[];
  /** Into the stream of the agent that began the run. */
  readonly record: RecordStreamEvents;
}

export class InterruptDesk {
  readonly #options: DeskOptions;
  readonly #steps = new TaskQueue();
  #agents: ReadonlyMap<string, RemoteAgent> = new Map();
  #record: RecordStreamEvents = () => Promise.resolve([]);
  #unwatch = (): void => undefined;
  /** Whether there was no room for one: it is opened as soon as there is. */
  #isBehind = false;

  constructor(options: DeskOptions) {
    this.#options = options;
  }

  /** Opens and decides from now on, beginning with what nobody saw happen. */
  start({ agents, record }: DeskService): void {
    const { register, escalations } = this.#options;
    this.#agents = new Map(agents.map((agent) => [agent.base, agent]));
    this.#record = record;
    this.#unwatch = register.watch((before, after) => this.#changed(before, after));
    this.#inOrder(async () => {
      for (const escalation of escalations.list()) await this.#settle(escalation);
      await this.#openAll();
    });
  }

  /** Leaves the rest to whoever is started next. */
  async close(): Promise<void> {
    this.#unwatch();
    await this.settled();
  }

  /** Waits until everything that has happened is in the escalations. */
  settled(): Promise<void> {
    return this.#steps.run(() => Promise.resolve());
  }

  /** The escalation of what a run waits for. */
  async escalationOf({ interrupt }: AgentRun): Promise<Escalation | undefined> {
    if (interrupt === undefined) return undefined;
    await this.settled();
    return this.#find(interrupt.interruptId);
  }

  /** As what somebody may answer a run's question, or why not. */
  authorityOver(
    run: AgentRun,
    { manifest, agentAnswers }: Pick<RemoteAgent, "manifest" | "agentAnswers">,
    asker: QueryCaller,
  ): Decision["authority"] | Refusal {
    const { owner, interrupt } = run;
    if (asker.caller.agentId === owner) {
      const asked = manifest.specs.interrupts.find(({ type }) => type === interrupt?.type);
      if (agentAnswers && asked?.asksAgent === true) return "recipient";
      return confirmationForbidden(
        "what the run asks is for people to answer, not for the agent that began the run",
      );
    }
    const escalation = interrupt && this.#find(interrupt.interruptId);
    const asIfOpened = { agentId: owner } as Escalation;
    return authorityOver(escalation ?? asIfOpened, asker, this.#options.policy);
  }

  /** Notes who answers, until what was answered is known; the function takes the note back. */
  note(interruptId: string, word: Word): () => void {
    const { words } = this.#options;
    words.set(interruptId, word);
    return () => {
      if (words.get(interruptId) === word) words.delete(interruptId);
    };
  }

  /** Says that nobody decides yet. */
  async defer(interruptId: string, word: Word): Promise<void> {
    await this.settled();
    const escalation = this.#find(interruptId);
    if (escalation !== undefined) await this.#decide(escalation, word);
  }

  #changed(before: AgentRun, after: AgentRun | undefined): void {
    const [asked, asks] = [before.interrupt?.interruptId, after?.interrupt?.interruptId];
    if (asked === asks) return;
    const word = asked === undefined ? undefined : this.#options.words.get(asked);
    this.#inOrder(async () => {
      if (asked !== undefined) await this.#close(asked, after, word);
      if (after !== undefined) await this.#open(after);
      if (this.#isBehind && asked !== undefined) await this.#openAll();
    });
  }

  /** One question is looked for and opened before the next. */
  #inOrder(step: () => Promise<void>): void {
    void this.#steps.run(step).catch(this.#options.onFault);
  }

  /** Opens what is not open yet. */
  async #openAll(): Promise<void> {
    const { register } = this.#options;
    this.#isBehind = false;
    const waiting = register.list(
      ({ status }) => status === "interrupted",
      Number.MAX_SAFE_INTEGER,
    );
    for (const run of waiting.toReversed()) await this.#open(run);
  }

  async #open(seen: AgentRun): Promise<void> {
    const { register, escalations } = this.#options;
    const agent = this.#agents.get(seen.base);
    const run = register.find(seen.runId);
    const interruptId = run?.interrupt?.interruptId;
    if (agent === undefined || run === undefined || interruptId === undefined) return;
    if (this.#find(interruptId) !== undefined) return;
    const request = escalationRequest(run, await register.result(run.runId), agent, Date.now());
    if (request === undefined) return;
    const opening = await escalations.open(request);
    if (opening.kind === "full") this.#isBehind = true;
  }

  /** The run has its answer, or needs none: nobody has to look any more. */
  async #close(
    interruptId: string,
    run: AgentRun | undefined,
    word: Word | undefined,
  ): Promise<void> {
    const escalation = this.#find(interruptId);
    if (escalation === undefined || !isOpen(escalation, Date.now())) return;
    await this.#decide(escalation, word ?? withoutWord(run));
  }

  /** What became of a run that nobody watched. */
  async #settle(escalation: Escalation): Promise<void> {
    const subject = subjectOf(escalation);
    if (subject === undefined || !isOpen(escalation, Date.now())) return;
    const run = this.#options.register.find(subject.runId);
    if (run?.interrupt?.interruptId === subject.interruptId) return;
    const { words } = this.#options;
    await this.#decide(escalation, words.get(subject.interruptId) ?? withoutWord(run));
  }

  async #decide({ escalationId }: Escalation, { source, ...said }: Spoken): Promise<void> {
    const decision = { ...said, attestationId: `att-${uuidv7()}`, at: Date.now() };
    const outcome = await this.#options.escalations.decide(escalationId, decision);
    if (outcome.kind !== "decided") return;
    await this.#record([escalationEvent("escalation_decided", outcome.escalation)], source);
  }

  #find(interruptId: string): Escalation | undefined {
    const mark = markOf(interruptId);
    return this.#options.escalations.list().find(({ fingerprint }) => fingerprint === mark);
  }
}

type Spoken = Omit<Word, "source"> & { readonly source?: EventSource };

/** Nobody here has said anything, and the run waits no more. */
function withoutWord(run: AgentRun | undefined): Spoken {
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
