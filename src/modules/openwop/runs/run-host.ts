/**
 * The runs of a deployment, behind AGTP and HTTP: created, read, cancelled, forked and answered.
 * A run that a caller may not see is not there for it.
 * OpenWOP RFC 0072 §B
 */

import type { Ends } from "../../../base/deadline.ts";
import type { JsonRecord } from "../../../base/json-value.ts";
import type { SchemaCompiler } from "../../../schema/schema.ts";
import type { AlsoChange } from "../../../state/collection-write.ts";
import type { RunOwner } from "../agent-executor.ts";
import type { Workflow, Workflows } from "../workflows/load-workflows.ts";
import { type AnsweredRun, answerRun } from "./answer-run.ts";
import type { ChildRuns } from "./child-request.ts";
import { createChildRuns } from "./child-runs.ts";
import { RunEnder } from "./end-runs.ts";
import { makeFork } from "./fork-run.ts";
import { type InterruptAnswer, type RunWatcher, RunWatchers } from "./interrupt-answer.ts";
import { compileShapes, findDefinition, makeRun, type RunMaker } from "./make-run.ts";
import type { PauseRequest } from "./pause-request.ts";
import { pauseRun, resumeRun } from "./pause-run.ts";
import { isOver, isWaiting, ownerKey, type Run, type RunStatus } from "./run.ts";
import { isVisible, type RunCaller, type RunEntry, scheduled } from "./run-entry.ts";
import type { RunEvent } from "./run-event.ts";
import type { RunLog } from "./run-log.ts";
import { isRefused, type RunRefusal, runNotFound } from "./run-refusal.ts";
import { RunWorker, type RunWorkerOptions } from "./run-worker.ts";
import { UnfinishedRuns } from "./unfinished-runs.ts";
import type { LogRules } from "./workflow-runs.ts";

interface RunHostOptions extends Omit<RunWorkerOptions, "watcher"> {
  readonly workflows: Workflows;
  readonly compiler: SchemaCompiler;
  /** Aborted when nobody is to wait for a run any more: the server begins to stop. */
  readonly stopping: AbortSignal;
}

/** Changes that are made together with what is answered. */
type Alongside = (status: RunStatus, runId: string) => readonly AlsoChange[];

interface CreateOptions {
  readonly alongside?: Alongside;
  /** No other run of its scope may be under way. */
  readonly isOnly?: boolean;
}

/** Nothing is changed besides. */
const NOTHING: Alongside = () => [];

export class RunHost {
  readonly #options: RunHostOptions;
  readonly #rules: LogRules;
  readonly #maker: RunMaker;
  readonly #worker: RunWorker;
  readonly #ender: RunEnder;
  readonly #unfinished: UnfinishedRuns;
  readonly #watcher = new RunWatchers();

  constructor(options: RunHostOptions) {
    this.#options = options;
    this.#rules = { limits: options.limits, redact: options.redact };
    const { workflows, catalog, redact, compiler, register } = options;
    const shapes = compileShapes(compiler);
    this.#maker = { workflows, catalog, redact, ...shapes, now: () => register.now() };
    const parts = { ...options, watcher: this.#watcher };
    this.#ender = new RunEnder({ ...parts, rules: this.#rules });
    this.#worker = new RunWorker({
      ...{ ...parts, children: this.#childRuns() },
      ended: (run) => this.#ender.endChildren(run),
    });
    this.#unfinished = new UnfinishedRuns({ ...options, ender: this.#ender });
  }

  /** Takes up everything that is not over, whoever left it. */
  start(): void {
    this.#options.register.schedule.use(this.#worker);
    this.#unfinished.start();
  }

  /** Begins nothing more; what is executed goes on as long as the process does. */
  close(): void {
    this.#unfinished.stop();
    this.#options.register.schedule.pause(this.#worker);
  }

  /** Tells the watcher of every run that begins to wait, or has its answer. */
  watch(watcher: RunWatcher): void {
    this.#watcher.add(watcher);
  }

  /** For how long somebody who only waits may: as long as the caller stays, and the server does. */
  whileServing(caller: AbortSignal, timeoutMs?: number): Ends {
    const signals = [caller, this.#options.stopping];
    return timeoutMs === undefined ? { signals } : { signals, timeoutMs };
  }

  /** A workflow that the caller can run. */
  workflow(workflowId: string, tenant: string): Workflow | undefined {
    const { workflows, catalog } = this.#options;
    return findDefinition(workflows, catalog, workflowId, tenant);
  }

  /** Keeps the run that a body asks for; it is executed when its turn comes. */
  async create(
    body: JsonRecord,
    owner: RunOwner,
    options: CreateOptions = {},
  ): Promise<RunLog | RunRefusal> {
    return this.#add(makeRun(this.#maker, body, owner), options);
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
    return this.#add(makeFork(this.#maker, source, body, caller.owner), { alongside });
  }

  /** A run that the caller sees, as it stands. */
  async find(runId: string, caller: RunCaller): Promise<RunLog | RunRefusal> {
    const { register } = this.#options;
    const entry = register.find(runId);
    if (entry === undefined || !isVisible(entry, caller)) return runNotFound();
    return (await register.log(runId, this.#rules)) ?? runNotFound();
  }

  /** The caller's own runs, the newest first. */
  list({ owner }: RunCaller): readonly RunEntry[] {
    return this.#options.register.newestOf(ownerKey(owner));
  }

  /** Every run that waits for an answer, and that no other node tells people of. */
  async waiting(): Promise<readonly RunLog[]> {
    const { register } = this.#options;
    const waiting = register.unfinished().filter(({ status }) => isWaiting(status));
    const find = async ({ runId }: RunEntry): Promise<RunLog | undefined> =>
      (await register.claim(runId)) ? register.log(runId, this.#rules) : undefined;
    const logs = await Promise.all(waiting.map(find));
    return logs.flatMap((log) => log ?? []);
  }

  /** Events behind a sequence. */
  events(runId: string, after: number, limit: number): Promise<readonly RunEvent[]> {
    return this.#options.register.events(runId, after, limit);
  }

  /** Ends a run that is not over; it has ended when this resolves. */
  async cancel(
    runId: string,
    reason: string | undefined,
    caller: RunCaller,
  ): Promise<RunLog | RunRefusal> {
    const log = await this.find(runId, caller);
    if (isRefused(log)) return log;
    const { redact } = this.#options;
    const why = reason === undefined ? {} : { reason: redact(reason) };
    await this.#ender.end(log, { kind: "cancelled", ...why, by: caller.owner.principal });
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
    const { redact, types } = this.#options;
    const asked = redact({ ...request, by: caller.owner.principal });
    const stop = (): void => this.#ender.halt(runId, { kind: "paused" });
    return (await pauseRun(log, asked, { types, stop })) ?? log;
  }

  /** Lets a paused run go on. */
  async resume(
    runId: string,
    reason: string | undefined,
    caller: RunCaller,
  ): Promise<RunLog | RunRefusal> {
    const log = await this.find(runId, caller);
    if (isRefused(log)) return log;
    const why = reason === undefined ? undefined : this.#options.redact(reason);
    const refusal = await resumeRun(log, why, caller.owner.principal);
    if (refusal !== undefined) return refusal;
    this.#continue(log);
    return log;
  }

  /** Answers what a node waits for. */
  async answer(
    runId: string,
    nodeId: string,
    answer: InterruptAnswer,
    caller: RunCaller,
    alongside: Alongside = NOTHING,
  ): Promise<AnsweredRun | RunRefusal> {
    const log = await this.find(runId, caller);
    if (isRefused(log)) return log;
    const { register, compiler, redact } = this.#options;
    const watcher = this.#watcher;
    const answered = await answerRun(log, nodeId, answer, {
      ...{ register, watcher, compiler, redact, alongside: alongside("running", runId) },
    });
    if (!isRefused(answered)) this.#continue(log);
    return answered;
  }

  async #add(
    run: Run | RunRefusal,
    { alongside = NOTHING, isOnly = false }: CreateOptions,
  ): Promise<RunLog | RunRefusal> {
    const { register, redact } = this.#options;
    // Members have names that clients choose, too.
    if (isRefused(run)) return redact(run);
    const changes = alongside("pending", run.runId);
    const log = await register.keep(run, this.#rules, { alongside: changes, isOnly });
    if (!isRefused(log)) this.#continue(log);
    return log;
  }

  #childRuns(): ChildRuns {
    return createChildRuns({
      ...{ register: this.#options.register, rules: this.#rules, maker: this.#maker },
      go: (log) => this.#continue(log),
      orphaned: (log) => this.#ender.orphan(log),
    });
  }

  #continue({ run, state }: RunLog): void {
    const { schedule } = this.#options.register;
    const { tenant, principal } = run.owner;
    if (!isOver(state.status)) schedule.add(scheduled({ runId: run.runId, tenant, principal }));
  }
}
