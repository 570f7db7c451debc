/**
 * The runs of a deployment, behind AGTP and HTTP: created, read, cancelled, forked and answered. A run
 * that a caller may not see is not there for it. Runs that are not over are taken up, whoever left
 * them: an earlier process, another deployment, a node that is gone, a full disk.   OpenWOP RFC 0072 §B
 */
import type { Ends } from "../../../base/deadline.ts";
import { given, type JsonRecord } from "../../../base/json-value.ts";
import { traceOf } from "../../../base/thrown.ts";
import type { AlsoChange } from "../../../state/collection-write.ts";
import type { RunOwner } from "../agent-executor.ts";
import type { Workflow } from "../workflows/load-workflows.ts";
import { type AnsweredRun, answerRun, type BesideAnswer } from "./answer-run.ts";
import { makeFork } from "./fork-run.ts";
import { findDefinition, makeRun } from "./make-run.ts";
import { endRun, pauseRun, resumeRun, takeDown } from "./pause-run.ts";
import {
  isRefused,
  isSuspended,
  isWaiting,
  ownerKey,
  type PauseRequest,
  type Run,
  type RunRefusal,
  runNotFound,
} from "./run.ts";
import { endOfWaiting, isVisible, type RunCaller, type RunEntry } from "./run-entry.ts";
import type { RunLog } from "./run-log.ts";
import type { Interrupt, InterruptAnswer, InterruptWatcher } from "./run-state.ts";
import { RunWorker } from "./run-worker.ts";
import { WaitEnds } from "./wait-ends.ts";
import type { RunParts } from "./workflow-runs.ts";

/** Changes that are made together with what is answered. */
type Alongside = (runId: string) => readonly AlsoChange[];

interface CreateOptions {
  readonly alongside?: Alongside;
  /** No other run of its scope may be under way. */
  readonly isOnly?: boolean;
}

/** Nothing is changed besides. */
const NOTHING: Alongside = () => [];
const LOOK_EVERY_MS = 60_000;

export class RunHost {
  readonly #parts: RunParts;
  readonly #worker: RunWorker;
  readonly #waits: WaitEnds;
  readonly #watchers = new Set<InterruptWatcher>();
  #looking: NodeJS.Timeout | undefined;
  #stop: () => void = () => undefined;
  #isClosed = false;

  constructor(options: Omit<RunParts, "watchers" | "isReplaced">) {
    const isReplaced = (): boolean => this.#isClosed;
    this.#parts = { ...options, watchers: this.#watchers, isReplaced };
    this.#worker = new RunWorker(this.#parts);
    this.#waits = new WaitEnds(this.#parts, LOOK_EVERY_MS);
  }

  /** Takes up everything that is not over, at once, and now and then. */
  start(): void {
    this.#isClosed = false;
    this.#waits.start();
    const { register } = this.#parts;
    this.#stop = register.executeBy(this.#worker, (runs) => this.#takeUp(runs));
    this.#forgetOld();
    this.#looking = setInterval(() => {
      this.#takeUp(register.unfinished());
      this.#forgetOld();
    }, LOOK_EVERY_MS).unref();
  }

  /** Begins no run and no node any more; what is executed ends there, and goes on with the next host. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#looking);
    this.#waits.close();
    this.#stop();
  }

  /** Tells the watcher of every run that begins to wait, or has its answer. */
  watch(watcher: InterruptWatcher): void {
    this.#watchers.add(watcher);
  }

  /** For how long somebody who only waits may: as long as the caller stays, and the server does. */
  whileServing(caller: AbortSignal, timeoutMs?: number): Ends {
    const signals = [caller, this.#parts.stopping];
    return timeoutMs === undefined ? { signals } : { signals, timeoutMs };
  }

  /** A workflow that the caller can run. */
  workflow(workflowId: string, tenant: string): Workflow | undefined {
    return findDefinition(this.#parts, workflowId, tenant);
  }

  /** Keeps the run that a body asks for; it is executed when its turn comes. */
  async create(
    body: JsonRecord,
    owner: RunOwner,
    options: CreateOptions = {},
  ): Promise<RunLog | RunRefusal> {
    return this.#add(makeRun(this.#parts, body, owner), options);
  }

  /** Keeps a fork of a run that the caller sees. */
  async fork(
    runId: string,
    body: JsonRecord,
    caller: RunCaller,
    alongside: Alongside = NOTHING,
  ): Promise<RunLog | RunRefusal> {
    const source = await this.find(runId, caller);
    if (isRefused(source)) return source;
    return this.#add(makeFork(this.#parts, source, body, caller.owner), { alongside });
  }

  /** A run that the caller sees, as it stands. */
  async find(runId: string, caller: RunCaller): Promise<RunLog | RunRefusal> {
    const { register } = this.#parts;
    const entry = register.find(runId);
    if (entry === undefined || !isVisible(entry, caller)) return runNotFound();
    return (await register.log(runId, this.#parts)) ?? runNotFound();
  }

  /** Takes in what other nodes have done. */
  catchUp(): Promise<void> {
    return this.#parts.register.catchUp();
  }

  /** An owner's runs, the newest first. */
  list(owner: RunOwner): readonly RunEntry[] {
    return this.#parts.register.newestOf(ownerKey(owner));
  }

  /** Lists the runs that wait for an answer, the oldest first. */
  waiting(): readonly RunEntry[] {
    return this.#parts.register.unfinished().filter(({ status }) => isWaiting(status));
  }

  /** Tells whether a run waits for an answer. */
  isWaiting(runId: string): boolean {
    const entry = this.#parts.register.find(runId);
    return entry !== undefined && isWaiting(entry.status);
  }

  /** The moment at which a run has waited for too long, in milliseconds since the epoch. */
  endOfWait(interrupt: Pick<Interrupt, "requestedAt" | "timeoutMs">): number {
    const { requestedAt, timeoutMs } = interrupt;
    const waiting = { since: Date.parse(requestedAt), ...given({ timeoutMs }) };
    return endOfWaiting(waiting, this.#parts.limits);
  }

  /** A run that waits, where it is this node that tells people of it. */
  async attend(runId: string): Promise<RunLog | undefined> {
    const { register } = this.#parts;
    return (await register.claim(runId)) ? register.log(runId, this.#parts) : undefined;
  }

  /** Ends a run that is not over; it has ended when this resolves. */
  async cancel(
    runId: string,
    reason: string | undefined,
    caller: RunCaller,
  ): Promise<RunLog | RunRefusal> {
    const log = await this.find(runId, caller);
    if (isRefused(log)) return log;
    const why = reason === undefined ? {} : { reason: this.#parts.redact(reason) };
    await endRun(this.#parts, log, { kind: "cancelled", ...why, by: caller.owner.principal });
    return log;
  }

  /** Pauses a run, or has it paused behind the node that is executed. */
  async pause(
    runId: string,
    request: Omit<PauseRequest, "by">,
    caller: RunCaller,
  ): Promise<RunLog | RunRefusal> {
    const log = await this.find(runId, caller);
    if (isRefused(log)) return log;
    const asked = this.#parts.redact({ ...request, by: caller.owner.principal });
    return (await pauseRun(log, asked, this.#parts)) ?? log;
  }

  /** Lets a paused run go on. */
  async resume(
    runId: string,
    reason: string | undefined,
    caller: RunCaller,
  ): Promise<RunLog | RunRefusal> {
    const log = await this.find(runId, caller);
    if (isRefused(log)) return log;
    const refusal = await resumeRun(log, this.#parts.redact(reason), caller.owner.principal);
    if (refusal !== undefined) return refusal;
    this.#parts.register.enqueueLog(log);
    return log;
  }

  /** Answers what a node waits for. */
  async answer(
    runId: string,
    nodeId: string,
    answer: InterruptAnswer,
    caller: RunCaller,
    beside: BesideAnswer = () => [],
  ): Promise<AnsweredRun | RunRefusal> {
    const log = await this.find(runId, caller);
    if (isRefused(log)) return log;
    const answered = await answerRun(log, nodeId, answer, this.#parts, beside).catch((error) => {
      for (const watcher of this.#watchers) watcher.onDoubt();
      throw error;
    });
    if (!isRefused(answered)) this.#parts.register.enqueueLog(log);
    return answered;
  }

  async #add(
    run: Run | RunRefusal,
    { alongside = NOTHING, isOnly = false }: CreateOptions,
  ): Promise<RunLog | RunRefusal> {
    const { register, redact } = this.#parts;
    // Members have names that clients choose, too.
    if (isRefused(run)) return redact(run);
    const changes = alongside(run.runId);
    const log = await register.keep(run, this.#parts, { alongside: changes, isOnly });
    if (!isRefused(log)) register.enqueueLog(log);
    return log;
  }

  /** Deletes the runs that are over for long. */
  #forgetOld(): void {
    const { register, limits, logger, redact } = this.#parts;
    register.forget(limits).catch((error: unknown) => {
      logger.warn({ trace: redact(traceOf(error)) }, "old runs could not be deleted");
    });
  }

  #takeUp(runs: readonly RunEntry[]): void {
    const { register } = this.#parts;
    for (const entry of runs) {
      if (!register.isOurs(entry)) continue;
      if (takeDown(this.#parts, entry) || isSuspended(entry.status)) continue;
      if (register.isUnattended(entry)) register.enqueue(entry);
    }
    this.#waits.look();
  }
}
