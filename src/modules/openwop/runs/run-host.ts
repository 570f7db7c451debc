/**
 * The runs of a deployment for AGTP and HTTP: creates, reads, cancels, forks and answers them. Invisible runs are
 * treated as missing. Unfinished runs are resumed, no matter if an earlier process, another deployment, a lost node or
 * a full disk left them.   OpenWOP RFC 0072 §B
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

/** Returns changes to commit together with a new run. */
type Alongside = (runId: string) => readonly AlsoChange[];

interface CreateOptions {
  readonly alongside?: Alongside;
  /** True to refuse if another run of its scope is unfinished. */
  readonly isOnly?: boolean;
}

/** No further changes. */
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

  /** Resumes every unfinished run, now and periodically. */
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

  /** Stops starting runs and nodes; running ones finish their node and continue with the next host. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#looking);
    this.#waits.close();
    this.#stop();
  }

  /** Registers a watcher of interrupts. */
  watch(watcher: InterruptWatcher): void {
    this.#watchers.add(watcher);
  }

  /** The ends of a caller's wait: it disconnects, the server stops, or the timeout. */
  whileServing(caller: AbortSignal, timeoutMs?: number): Ends {
    const signals = [caller, this.#parts.stopping];
    return timeoutMs === undefined ? { signals } : { signals, timeoutMs };
  }

  /** Finds a workflow that the caller can run. */
  workflow(workflowId: string, tenant: string): Workflow | undefined {
    return findDefinition(this.#parts, workflowId, tenant);
  }

  /** Creates and enqueues the run that a body asks for. */
  async create(
    body: JsonRecord,
    owner: RunOwner,
    options: CreateOptions = {},
  ): Promise<RunLog | RunRefusal> {
    return this.#add(makeRun(this.#parts, body, owner), options);
  }

  /** Creates and enqueues a fork of a run that the caller sees. */
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

  /** Finds a run that the caller sees. */
  async find(runId: string, caller: RunCaller): Promise<RunLog | RunRefusal> {
    const { register } = this.#parts;
    const entry = register.find(runId);
    if (entry === undefined || !isVisible(entry, caller)) return runNotFound();
    return (await register.log(runId, this.#parts)) ?? runNotFound();
  }

  /** Takes in the changes of other nodes. */
  catchUp(): Promise<void> {
    return this.#parts.register.catchUp();
  }

  /** Lists an owner's runs, newest first. */
  list(owner: RunOwner): readonly RunEntry[] {
    return this.#parts.register.newestOf(ownerKey(owner));
  }

  /** Lists the runs that wait for an answer, oldest first. */
  waiting(): readonly RunEntry[] {
    return this.#parts.register.unfinished().filter(({ status }) => isWaiting(status));
  }

  /** Tells whether a run waits for an answer. */
  isWaiting(runId: string): boolean {
    const entry = this.#parts.register.find(runId);
    return entry !== undefined && isWaiting(entry.status);
  }

  /** Returns when an interrupt times out, in milliseconds since the epoch. */
  endOfWait(interrupt: Pick<Interrupt, "requestedAt" | "timeoutMs">): number {
    const { requestedAt, timeoutMs } = interrupt;
    const waiting = { since: Date.parse(requestedAt), ...given({ timeoutMs }) };
    return endOfWaiting(waiting, this.#parts.limits);
  }

  /** Claims a waiting run so that this node notifies about it; undefined if another node has it. */
  async attend(runId: string): Promise<RunLog | undefined> {
    const { register } = this.#parts;
    return (await register.claim(runId)) ? register.log(runId, this.#parts) : undefined;
  }

  /** Cancels an unfinished run; resolves once it has ended. */
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

  /** Pauses a run, at once or after its current node. */
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

  /** Resumes a paused run. */
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

  /** Answers the interrupt of a node. */
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
    // Clients choose member names, which the refusal quotes.
    if (isRefused(run)) return redact(run);
    const changes = alongside(run.runId);
    const log = await register.keep(run, this.#parts, { alongside: changes, isOnly });
    if (!isRefused(log)) register.enqueueLog(log);
    return log;
  }

  /** Deletes runs past their retention. */
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
