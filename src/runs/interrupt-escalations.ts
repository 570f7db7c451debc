/**
 * The questions of runs, as escalations: people find the questions of every kind of runs in the one
 * queue that they have. One is opened for each question, and decided when the run has its answer,
 * whoever gave it and wherever. Where there is no room for one, it is opened once there is.
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

/** Something that a run waits for, and how it is escalated. */
export interface InterruptQuestion {
  /** As the kind names it. */
  readonly name: string;
  readonly request: Omit<EscalationRequest, "fingerprint">;
  /** The votes so far where it waits for several. */
  readonly votes?: readonly EscalationVote[];
}

/** The decision of a question, and the request that brought it. */
export interface InterruptVerdict
  extends Pick<
    Decision,
    "status" | "authority" | "reason" | "agentId" | "operator" | "attestation"
  > {
  readonly cause?: CausingRequest;
}

/** A kind of questions; a subject says which of them an escalation is about. */
export interface QuestionKind<Subject> {
  /** No other kind has this name. */
  readonly name: string;
  /** The subject of an escalation's context; undefined where it is about something else. */
  readSubject(context: JsonRecord): Subject | undefined;
  /** The name of the question, which no other of the kind has. */
  nameOf(subject: Subject): string;
}

/** A queue that people read is no place for more, and one question must not take the room of all others. */
const MAX_PART_BYTES = 16_384;

/** The members of a context; instead of one that is too long, `NAME_omitted` says that the run has it. */
export function boundedParts(parts: JsonRecord): JsonRecord {
  const bounded = Object.entries(parts).map(([name, value]) => {
    const isLong = Buffer.byteLength(JSON.stringify(value)) > MAX_PART_BYTES;
    return isLong ? [`${name}_omitted`, true] : [name, value];
  });
  return Object.fromEntries(bounded);
}

/** Looks at one run; undefined: it asks nothing, or another node tells people of it. */
export type AskRun = () => Promise<InterruptQuestion | undefined>;

/** The questions of one kind of runs. */
export interface InterruptSource<Subject> {
  /** The runs that wait, the oldest first. */
  waiting(): readonly AskRun[];
  /** Does what an earlier version has left undone for an escalation that is decided. */
  takeUp?(escalation: Escalation, subject: Subject): Promise<void>;
  /** Takes in what other nodes have done to the runs. */
  catchUp(): Promise<void>;
  /** The verdict on a question that nobody waits for any more; undefined: somebody does. */
  verdictOn(subject: Subject): Promise<InterruptVerdict | undefined>;
}

/** The parts of a queue's view of runs. */
interface InterruptEscalationsOptions<Subject> {
  readonly escalations: EscalationRegister;
  readonly kind: QuestionKind<Subject>;
  readonly source: InterruptSource<Subject>;
  /** Into the stream of the agent whose escalation it is. */
  readonly record: RecordStreamEvents;
  onFault(error: unknown): void;
  /** Aborted when nothing is tried again any more. */
  readonly ending: AbortSignal;
}

/** A run whose log cannot be read now may be readable later, and so may a store. */
const LATER: BackOff = { firstMs: 500, longestMs: 600_000 };

/** Room may come unseen: an escalation of another kind is decided, or its time is over. */
const LOOK_FOR_ROOM_MS = 60_000;

export class InterruptEscalations<Subject> {
  readonly #options: InterruptEscalationsOptions<Subject>;
  readonly #turns = new Turns();
  readonly #again: OnceLater;
  readonly #lookForRoom: OnceLater;
  #hadNoRoom = false;
  #isInDoubt = false;
  /** How often in a row something went wrong. */
  #failures = 0;

  constructor(options: InterruptEscalationsOptions<Subject>) {
    this.#options = options;
    this.#again = new OnceLater(options.ending, () => this.takeUp());
    this.#lookForRoom = new OnceLater(options.ending, () => {
      if (this.#hadNoRoom) void this.inOrder(() => this.#openAll());
    });
  }

  /** Takes up what nobody saw happen: answers, and questions. What goes wrong is tried again later. */
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

  /** Takes up an answer that may be kept: the store has not said, and is asked until it does. */
  doubt(): void {
    this.#isInDoubt = true;
    this.takeUp();
  }

  /** Opens the escalation of a question, unless it is open, and keeps its votes; asked for when its turn has come. */
  ask(run: AskRun): void {
    void this.inOrder(() => this.#ask(run));
  }

  /**
   * Decides the escalation of a question: the run has its answer, or needs none. Answers the Audit-ID of the
   * record; undefined: there is nothing to decide.
   */
  async answered(name: string, verdict: InterruptVerdict): Promise<string | undefined> {
    let auditId: string | undefined;
    await this.inOrder(async () => {
      // Another node may have opened it a moment ago.
      if (this.find(name) === undefined) await this.#options.escalations.catchUp();
      const escalation = this.find(name);
      if (escalation !== undefined && isOpen(escalation)) {
        auditId = await this.decide(escalation, verdict);
      }
      if (this.#hadNoRoom) await this.#openAll();
    });
    return auditId;
  }

  /** Does one thing after the other: a question is looked for and opened before the next. */
  inOrder(step: () => Promise<void>): Promise<void> {
    return this.#turns.run(() => this.#attempt(step));
  }

  /** Waits until everything that has happened is in the escalations. */
  settled(): Promise<void> {
    return this.#turns.settled();
  }

  /** The escalation of a question, decided or not. */
  find(name: string): Escalation | undefined {
    const { escalations, kind } = this.#options;
    return escalations.findAsked(markOf(kind, name));
  }

  /** Decides an escalation that is open, and has it on record; answers the record's Audit-ID. */
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

  /** One that goes wrong keeps no other from its turn. */
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
    // The queue of the deployment before this one may open it in the same moment.
    const opening = await escalations.open({ ...request, fingerprint }, { keptOutBy: () => true });
    if (opening.kind === "full") {
      this.#hadNoRoom = true;
      this.#lookForRoom.in(LOOK_FOR_ROOM_MS);
      return;
    }
    if (votes.length > 0) await escalations.noteVotes(opening.escalation.escalationId, votes);
    if (opening.kind !== "opened") return;
    // Another node that has answered the run, or ended it, may not have found this.
    await this.#options.source.catchUp();
    await this.#settle(opening.escalation);
  }
}

/** Work that is done once more after a while, however often it is asked for until then. */
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

/** The question that an escalation is about, where it was this server that opened it. */
export function subjectOf<Subject>(
  kind: QuestionKind<Subject>,
  { context, fingerprint }: Pick<Escalation, "context" | "fingerprint">,
): Subject | undefined {
  const subject = isRecord(context) ? kind.readSubject(context) : undefined;
  return subject && fingerprint === markOf(kind, kind.nameOf(subject)) ? subject : undefined;
}

/** No escalation that an agent writes has this fingerprint: those are digests of what it wrote. */
function markOf(kind: Pick<QuestionKind<unknown>, "name">, name: string): string {
  return hash("sha256", `${kind.name} interrupt ${name}`);
}
