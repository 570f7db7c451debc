/**
 * The runs of a deployment, behind every face: created, read, cancelled, forked and answered.
 * What one caller may not see is not there for it.
 * OpenWOP RFC 0072 §B
 */

import type { Ends } from "../../../base/deadline.ts";
import type { JsonRecord } from "../../../base/json-value.ts";
import { traceOf } from "../../../base/thrown.ts";
import type { CompiledSchema, SchemaCompiler } from "../../../schema/schema.ts";
import type { Change } from "../../../state/store.ts";
import type { RunOwner } from "../agent-executor.ts";
import type { Workflow, Workflows } from "../workflows/load-workflows.ts";
import { type AnsweredRun, answerRun } from "./answer-run.ts";
import type { ChildRuns } from "./child-request.ts";
import { createChildRuns } from "./child-runs.ts";
import { stopped } from "./endings.ts";
import { compileOverlay, makeFork } from "./fork-run.ts";
import { compileRunBody, findDefinition, makeRun, type RunMaker } from "./make-run.ts";
import type { PauseRequest } from "./pause-request.ts";
import { pauseRun, resumeRun } from "./pause-run.ts";
import { isHeld, isOver, isWaiting, type Run, type RunStatus } from "./run.ts";
import { isVisible, type RunCaller } from "./run-caller.ts";
import type { RunEvent } from "./run-event.ts";
import type { RunLog } from "./run-log.ts";
import { isRefused, type RunRefusal, refuseRun, runNotFound } from "./run-refusal.ts";
import type { LogRules } from "./run-register.ts";
import type { RunStop } from "./run-schedule.ts";
import { openInterrupt } from "./run-snapshot.ts";
import type { Interrupt } from "./run-state.ts";
import type { RunEntry } from "./run-storage.ts";
import { RunWorker, type RunWorkerOptions } from "./run-worker.ts";
import type { Word } from "./word.ts";

/** What runs are run with. */
export interface RunHostOptions extends RunWorkerOptions {
  readonly workflows: Workflows;
  readonly compiler: SchemaCompiler;
  /** Aborted when nobody is to wait for a run any more: the server begins to stop. */
  readonly stopping: AbortSignal;
}

/** What has to change together with what is answered. */
export type Alongside = (status: RunStatus, runId: string) => readonly Change[];

/** How a run is created. */
export interface CreateOptions {
  readonly alongside?: Alongside;
  readonly isOnly?: boolean;
}

const NOTHING: Alongside = () => [];
const RETRY_AFTER_S = 1;
/** How often it is looked for what was left lying: by a full disk, or by time. */
const LOOK_EVERY_MS = 60_000;

export class RunHost {
  readonly #options: RunHostOptions;
  readonly #rules: LogRules;
  readonly #body: CompiledSchema;
  readonly #overlay: CompiledSchema;
  readonly #worker: RunWorker;
  #sweeping: NodeJS.Timeout | undefined;

  constructor(options: RunHostOptions) {
    this.#options = options;
    this.#rules = { limits: options.limits, redact: options.redact };
    this.#body = compileRunBody(options.compiler);
    this.#worker = new RunWorker({ ...options, children: this.#childRuns() });
    this.#overlay = compileOverlay(options.compiler);
  }

  /** Takes up everything that is not over, whoever left it. */
  start(): void {
    const { register, limits, log, redact } = this.#options;
    register.schedule.use(this.#worker);
    const look = (): void => {
      this.#takeUp();
      register.sweep(limits).catch((error: unknown) => {
        log.warn({ trace: redact(traceOf(error)) }, "old runs could not be deleted");
      });
    };
    look();
    this.#sweeping = setInterval(look, LOOK_EVERY_MS).unref();
  }

  /** Begins nothing more; what is executed goes on as long as the process does. */
  close(): void {
    clearInterval(this.#sweeping);
    this.#options.register.schedule.pause(this.#worker);
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

  /** Keeps a run; it is executed when its turn comes. `isOnly`: no other of its scope may be. */
  async create(
    body: JsonRecord,
    owner: RunOwner,
    { alongside = NOTHING, isOnly = false }: CreateOptions = {},
  ): Promise<RunLog | RunRefusal> {
    const { redact, register } = this.#options;
    const run = makeRun(this.#maker(), body, owner);
    // Members have names that clients choose, too.
    if (isRefused(run)) return redact(run);
    // Nothing is awaited from here to where the run is counted: of two at once, one is the first.
    const other = isOnly && run.scopeId && register.activeIn(owner.tenant, run.scopeId);
    if (!other) return this.#keep(run, alongside);
    const message = "another run of this scope is not over yet";
    const details = { activeRunId: other.runId, retryAfter: RETRY_AFTER_S };
    return refuseRun("run_already_active", message, details);
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
    const { redact, register } = this.#options;
    const maker = { overlay: this.#overlay, redact, now: register.now };
    const fork = makeFork(maker, source, body, caller.owner);
    return isRefused(fork) ? redact(fork) : this.#keep(fork, alongside);
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
    return this.#options.register.ofOwner(owner);
  }

  /** Every run that waits for a word. */
  async waiting(): Promise<readonly RunLog[]> {
    const { register } = this.#options;
    const waiting = register.unfinished().filter(({ status }) => isWaiting(status));
    const logs = await Promise.all(waiting.map(({ runId }) => register.log(runId, this.#rules)));
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
    await this.#end(log, { kind: "cancelled", ...why, by: caller.owner.principal });
    return log;
  }

  /** Ends a run, and with it whatever it began. */
  async #end(log: RunLog, stop: Extract<RunStop, { kind: "cancelled" }>): Promise<void> {
    const { register, watcher } = this.#options;
    const { run } = log;
    // The end is written here: a node that does not hear the signal cannot put it off.
    let waiting: Interrupt | undefined;
    await log.append((state) => {
      waiting = openInterrupt(state);
      return stopped(stop, state, run, register.now());
    });
    if (waiting !== undefined) watcher?.over(run, waiting, undefined);
    this.#halt(run.runId, stop);
    for (const child of register.childrenOf(run.runId)) {
      if (isOver(child.status)) continue;
      const theirs = await register.log(child.runId, this.#rules);
      if (theirs !== undefined) await this.#orphan(theirs, stop.by);
    }
  }

  /** The run that began it is over, and nobody waits for what it would come to. */
  #orphan(log: RunLog, by: string): Promise<void> {
    const parent = log.run.parent === undefined ? {} : { parentRunId: log.run.parent.runId };
    return this.#end(log, { kind: "cancelled", reason: "parent-cancelled", by, ...parent });
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
    const stop = (): void => this.#halt(runId, { kind: "paused" });
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
    word: Word,
    caller: RunCaller,
    alongside: Alongside = NOTHING,
  ): Promise<AnsweredRun | RunRefusal> {
    const log = await this.find(runId, caller);
    if (isRefused(log)) return log;
    const { register, watcher, compiler, redact } = this.#options;
    const answered = await answerRun(log, nodeId, word, {
      ...{ register, compiler, redact, alongside: alongside("running", runId) },
      ...(watcher === undefined ? {} : { watcher }),
    });
    if (!isRefused(answered)) this.#continue(log);
    return answered;
  }

  /** Ends its execution, or its waiting for one. */
  #halt(runId: string, stop: RunStop): void {
    const { register } = this.#options;
    register.schedule.stop(runId, stop);
    const entry = register.find(runId);
    if (entry !== undefined) register.schedule.remove(entry);
  }

  async #keep(run: Run, alongside: Alongside): Promise<RunLog | RunRefusal> {
    const { register } = this.#options;
    const log = await register.create(run, this.#rules, alongside("pending", run.runId));
    if (log === undefined) {
      return refuseRun("rate_limited", "too many runs of this caller are not over yet", {
        ...{ scope: "key", retryAfterMs: 1000 },
      });
    }
    this.#continue(log);
    return log;
  }

  #takeUp(): void {
    const { register } = this.#options;
    const { schedule } = register;
    for (const entry of register.unfinished()) {
      const { parentRunId, runId } = entry;
      if (parentRunId !== undefined && isOver(register.find(parentRunId)?.status ?? "cancelled")) {
        this.#takeDown(runId);
      } else if (!isHeld(entry.status) && !schedule.has(entry)) schedule.add(entry);
    }
  }

  /** An earlier process ended its parent, and did not get to it. */
  #takeDown(runId: string): void {
    const { register, log: lines, redact } = this.#options;
    const ending = register
      .log(runId, this.#rules)
      .then((log) => log && this.#orphan(log, log.run.owner.principal));
    ending.catch((error: unknown) => {
      lines.warn({ trace: redact(traceOf(error)), run_id: runId }, "a run could not be ended");
    });
  }

  #maker(): RunMaker {
    const { workflows, catalog, redact, register } = this.#options;
    return { workflows, catalog, redact, body: this.#body, now: register.now };
  }

  #childRuns(): ChildRuns {
    return createChildRuns({
      ...{ register: this.#options.register, rules: this.#rules, maker: this.#maker() },
      go: (log) => this.#continue(log),
      orphaned: (log) => this.#orphan(log, log.run.owner.principal),
    });
  }

  #continue({ run, state }: RunLog): void {
    const { schedule } = this.#options.register;
    const { tenant, principal } = run.owner;
    if (!isOver(state.status)) schedule.add({ runId: run.runId, tenant, principal });
  }
}
