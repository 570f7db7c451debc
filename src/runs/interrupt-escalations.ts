/**
 * Mirrors the questions of runs as escalations, so that people find the questions of every kind of run in their one
 * queue. Each question opens one escalation, which is decided once the run has its answer, from any source. Where
 * the queue is full, the escalation is opened once there is room.
 * AGTP "ESCALATE", "CONFIRM"
 */
import { hash } from "node:crypto";
import { type BackOff, pauseAfter } from "../base/back-off.ts";
import { isRecord, type JsonRecord } from "../base/json-value.ts";
import { Turns } from "../base/turns.ts";
import { escalationEvent } from "../dispatch/approvals/escalation-events.ts";
import type { CausingRequest, RecordStreamEvents } from "../dispatch/stream-events.ts";
import { uuidv7 } from "../identity/uuid.ts";
import {
  type Decision,
  type Escalation,
  type EscalationRequest,
  type EscalationVote,
  isOpen,
} from "../state/registers/escalation.ts";
import type { EscalationRegister } from "../state/registers/escalation-register.ts";

/** A question that a run waits on, and the escalation to open for it. */
export interface InterruptQuestion {
  /** The question's name, as `QuestionKind.nameOf` returns it. */
  readonly name: string;
  readonly request: Omit<EscalationRequest, "fingerprint">;
  /** The votes so far, if the question needs several. */
  readonly votes?: readonly EscalationVote[];
}

/** The decision on a question, and the request that carried it. */
export interface InterruptVerdict
  extends Pick<
    Decision,
    "status" | "authority" | "reason" | "agentId" | "operator" | "attestation"
  > {
  readonly cause?: CausingRequest;
}

/** A kind of question; its subject says which question an escalation is about. */
export interface QuestionKind<Subject> {
  /** Unique among the kinds. */
  readonly name: string;
  /** Reads the subject from an escalation's context; undefined if the escalation is of another kind. */
  readSubject(context: JsonRecord): Subject | undefined;
  /** Returns the question's name, unique within the kind. */
  nameOf(subject: Subject): string;
}

/** Bounds each context member: people read this queue, and one question must not use up its room. */
const MAX_PART_BYTES = 16_384;

/**
 * Bounds the members of a context: one that is too long is replaced by `NAME_omitted`, and stays readable in the
 * run.
 */
export function boundedParts(parts: JsonRecord): JsonRecord {
  const bounded = Object.entries(parts).map(([name, value]) => {
    const isLong = Buffer.byteLength(JSON.stringify(value)) > MAX_PART_BYTES;
    return isLong ? [`${name}_omitted`, true] : [name, value];
  });
  return Object.fromEntries(bounded);
}

/** Reads one run's question; undefined if it asks nothing, or if another node escalates it. */
export type AskRun = () => Promise<InterruptQuestion | undefined>;

/** The runs of one kind that may ask questions. */
export interface InterruptSource<Subject> {
  /** Returns the waiting runs, oldest first. */
  waiting(): readonly AskRun[];
  /** Finishes, for a decided escalation, the work that an earlier version left undone. */
  takeUp?(escalation: Escalation, subject: Subject): Promise<void>;
  /** Reads the changes that other nodes made to the runs. */
  catchUp(): Promise<void>;
  /** Returns the verdict on a question that no run waits on any more; undefined while one does. */
  verdictOn(subject: Subject): Promise<InterruptVerdict | undefined>;
}

/** The registers and callbacks that the escalations of one kind need. */
interface InterruptEscalationsOptions<Subject> {
  readonly escalations: EscalationRegister;
  readonly kind: QuestionKind<Subject>;
  readonly source: InterruptSource<Subject>;
  /** Records events in the stream of the escalation's agent. */
  readonly record: RecordStreamEvents;
  onFault(error: unknown): void;
  /** Aborted once retries must stop. */
  readonly ending: AbortSignal;
}

/** Retry delays: a run's log or the store may be readable again later. */
const LATER: BackOff = { firstMs: 500, longestMs: 600_000 };

/** Room can appear unnoticed, since escalations of other kinds get decided or expire. */
const LOOK_FOR_ROOM_MS = 60_000;

export class InterruptEscalations<Subject> {
  readonly #options: InterruptEscalationsOptions<Subject>;
  readonly #turns = new Turns();
  readonly #again: OnceLater;
  readonly #lookForRoom: OnceLater;
  #hadNoRoom = false;
  #isInDoubt = false;
  /** Consecutive failures. */
  #failures = 0;

  constructor(options: InterruptEscalationsOptions<Subject>) {
    this.#options = options;
    this.#again = new OnceLater(options.ending, () => this.takeUp());
    this.#lookForRoom = new OnceLater(options.ending, () => {
      if (this.#hadNoRoom) void this.inOrder(() => this.#openAll());
    });
  }

  /** Catches up on missed answers and questions. Failures are retried later. */
  takeUp(): void {
    void this.inOrder(async () => {
      const before = this.#failures;
      if (this.#isInDoubt) await this.#options.source.catchUp();
      this.#isInDoubt = false;
      await this.#each(this.#options.escalations.list(), (one) => this.#settle(one));
      await this.#openAll();
      if (this.#failures === before) this.#failures = 0;
    });
  }

  /** Handles an answer whose commit is undecided: re-reads the store until it tells. */
  doubt(): void {
    this.#isInDoubt = true;
    this.takeUp();
  }

  /** Opens the escalation of a run's question unless it is open, and stores its votes. The run is read in its turn. */
  ask(run: AskRun): void {
    void this.inOrder(() => this.#ask(run));
  }

  /**
   * Decides the escalation of a question whose run has its answer, or needs none. Returns the Audit-ID of the
   * record; undefined if no escalation is open.
   */
  async answered(name: string, verdict: InterruptVerdict): Promise<string | undefined> {
    let auditId: string | undefined;
    await this.inOrder(async () => {
      // Another node may have just opened it.
      if (this.find(name) === undefined) await this.#options.escalations.catchUp();
      const escalation = this.find(name);
      if (escalation !== undefined && isOpen(escalation)) {
        auditId = await this.decide(escalation, verdict);
      }
      if (this.#hadNoRoom) await this.#openAll();
    });
    return auditId;
  }

  /** Runs a step after the earlier ones, so that a question is looked up and opened before the next. */
  inOrder(step: () => Promise<void>): Promise<void> {
    return this.#turns.run(() => this.#attempt(step));
  }

  /** Resolves once every queued step has run. */
  settled(): Promise<void> {
    return this.#turns.settled();
  }

  /** Returns the escalation of a question, open or decided. */
  find(name: string): Escalation | undefined {
    const { escalations, kind } = this.#options;
    return escalations.findAsked(markOf(kind, name));
  }

  /** Decides an open escalation and records it; returns the record's Audit-ID. */
  async decide(
    { escalationId }: Escalation,
    { cause, ...verdict }: InterruptVerdict,
  ): Promise<string | undefined> {
    const { escalations, record } = this.#options;
    const decision = { ...verdict, attestationId: `att-${uuidv7()}`, at: escalations.now() };
    const outcome = await escalations.decide(escalationId, decision);
    if (outcome.kind !== "decided") return undefined;
    const event = escalationEvent("escalation_decided", outcome.escalation);
    const [auditId] = await record([event], cause);
    return auditId;
  }

  async #settle(escalation: Escalation): Promise<void> {
    const { kind, source } = this.#options;
    const subject = subjectOf(kind, escalation);
    if (subject === undefined) return;
    if (!isOpen(escalation)) return source.takeUp?.(escalation, subject);
    const verdict = await source.verdictOn(subject);
    if (verdict !== undefined) await this.decide(escalation, verdict);
  }

  async #openAll(): Promise<void> {
    this.#hadNoRoom = false;
    await this.#each(this.#options.source.waiting(), (run) => this.#ask(run));
  }

  /** Runs the step for each item; a failure does not keep the others from theirs. */
  async #each<One>(all: readonly One[], step: (one: One) => Promise<void>): Promise<void> {
    for (const one of all) await this.#attempt(() => step(one));
  }

  async #attempt(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      this.#options.onFault(error);
      this.#failures += 1;
      this.#again.in(pauseAfter(this.#failures, LATER));
    }
  }

  async #ask(run: AskRun): Promise<void> {
    const question = await run();
    if (question !== undefined) await this.#open(question);
  }

  async #open({ name, request, votes = [] }: InterruptQuestion): Promise<void> {
    const { escalations, kind } = this.#options;
    const fingerprint = markOf(kind, name);
    // The queue of the previous deployment may be opening the same escalation.
    const opening = await escalations.open({ ...request, fingerprint }, { keptOutBy: () => true });
    if (opening.kind === "full") {
      this.#hadNoRoom = true;
      this.#lookForRoom.in(LOOK_FOR_ROOM_MS);
      return;
    }
    if (votes.length > 0) await escalations.noteVotes(opening.escalation.escalationId, votes);
    if (opening.kind !== "opened") return;
    // Another node may have answered or ended the run before this escalation was visible to it.
    await this.#options.source.catchUp();
    await this.#settle(opening.escalation);
  }
}

/** A delayed call that is scheduled once, however often it is requested before it runs. */
class OnceLater {
  readonly #ending: AbortSignal;
  readonly #work: () => void;
  #isDue = false;

  constructor(ending: AbortSignal, work: () => void) {
    this.#ending = ending;
    this.#work = work;
  }

  in(ms: number): void {
    if (this.#isDue || this.#ending.aborted) return;
    this.#isDue = true;
    const begin = (): void => {
      this.#isDue = false;
      if (!this.#ending.aborted) this.#work();
    };
    setTimeout(begin, ms).unref();
  }
}

/** Returns the subject of an escalation, if this server opened it. */
export function subjectOf<Subject>(
  kind: QuestionKind<Subject>,
  { context, fingerprint }: Pick<Escalation, "context" | "fingerprint">,
): Subject | undefined {
  const subject = isRecord(context) ? kind.readSubject(context) : undefined;
  return subject && fingerprint === markOf(kind, kind.nameOf(subject)) ? subject : undefined;
}

/** Never equals an agent's fingerprint: those are digests of the agents' own requests. */
function markOf(kind: Pick<QuestionKind<unknown>, "name">, name: string): string {
  return hash("sha256", `${kind.name} interrupt ${name}`);
}
