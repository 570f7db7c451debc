/**
 * The runs of a deployment, behind every face: created, read, cancelled, forked and answered.
 * What one caller may not see is not there for it.
 * OpenWOP RFC 0072 §B
 */
import type { CompiledSchema, SchemaCompiler } from "../../../contract/schema.ts";
import type { JsonRecord } from "../../../json-value.ts";
import type { Change } from "../../../store/store.ts";
import type { RunOwner } from "../agent-executor.ts";
import type { Workflow, Workflows } from "../workflows/load-workflows.ts";
import { stopped } from "./endings.ts";
import { compileOverlay, makeFork } from "./fork-run.ts";
import { compileRunBody, findDefinition, makeRun } from "./make-run.ts";
import { isOver, type Run, type RunStatus } from "./run.ts";
import { isVisible, type RunCaller } from "./run-caller.ts";
import type { RunEvent } from "./run-event.ts";
import type { RunLog } from "./run-log.ts";
import { isRefused, type RunRefusal, refuseRun, runNotFound } from "./run-refusal.ts";
import type { LogRules } from "./run-register.ts";
import { openInterrupt } from "./run-snapshot.ts";
import type { RunEntry } from "./run-storage.ts";
import { RunWorker, type RunWorkerOptions } from "./run-worker.ts";
import { answered, interruptOf, refuseWord, type Word } from "./verdict.ts";

/** What runs are run with. */
export interface RunHostOptions extends RunWorkerOptions {
  readonly workflows: Workflows;
  readonly compiler: SchemaCompiler;
}

/** A run whose node has its answer. */
export interface AnsweredRun {
  readonly log: RunLog;
  readonly interruptId: string;
  /** The event that says so. */
  readonly eventId: string;
}

/** What has to change together with what is answered. */
export type Alongside = (status: RunStatus, runId: string) => readonly Change[];

const NOTHING: Alongside = () => [];
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
    this.#worker = new RunWorker(options);
    this.#rules = { limits: options.limits, redact: options.redact };
    this.#body = compileRunBody(options.compiler);
    this.#overlay = compileOverlay(options.compiler);
  }

  /** Takes up everything that is not over, whoever left it. */
  start(): void {
    const { register, limits, log } = this.#options;
    register.schedule.use(this.#worker);
    const look = (): void => {
      this.#takeUp();
      register.sweep(limits).catch((error: unknown) => {
        log.warn({ error }, "old runs could not be deleted");
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

  /** A workflow that the caller can run. */
  workflow(workflowId: string, tenant: string): Workflow | undefined {
    const { workflows, catalog } = this.#options;
    return findDefinition(workflows, catalog, workflowId, tenant);
  }

  /** Keeps a run; it is executed when its turn comes. */
  async create(
    body: JsonRecord,
    owner: RunOwner,
    alongside: Alongside = NOTHING,
  ): Promise<RunLog | RunRefusal> {
    const { workflows, catalog, redact, register } = this.#options;
    const maker = { workflows, catalog, redact, body: this.#body, now: register.now };
    const run = makeRun(maker, body, owner);
    return isRefused(run) ? run : this.#keep(run, alongside);
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
    return isRefused(fork) ? fork : this.#keep(fork, alongside);
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
    const waiting = register.unfinished().filter(({ status }) => status === "waiting-approval");
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
    const { register, redact, watcher } = this.#options;
    const why = reason === undefined ? {} : { reason: redact(reason) };
    const stop = { kind: "cancelled", ...why, by: caller.owner.principal } as const;
    // The end is written here: a node that does not hear the signal cannot put it off.
    const waiting = openInterrupt(log.state);
    await log.append((state) => stopped(stop, state, log.run, register.now()));
    if (waiting !== undefined) watcher?.over(log.run, waiting, undefined);
    register.schedule.stop(runId, stop);
    const entry = register.find(runId);
    if (entry !== undefined) register.schedule.remove(entry);
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
    const interrupt = interruptOf(log.state, nodeId);
    if (interrupt === undefined) {
      return refuseRun("interrupt_not_found", "the node of this run waits for nothing");
    }
    const { register, watcher } = this.#options;
    const result = await register.held(runId, nodeId);
    let refusal: RunRefusal | undefined;
    const [event] = await log.append(
      (state) => {
        refusal = refuseWord(state, nodeId);
        if (refusal !== undefined) return [];
        return answered(interrupt, word, result, { state, run: log.run, now: register.now() });
      },
      alongside("running", runId),
    );
    if (refusal !== undefined) return refusal;
    watcher?.over(log.run, interrupt, word);
    this.#continue(log);
    return { log, interruptId: interrupt.interruptId, eventId: event?.eventId ?? "" };
  }

  async #keep(run: Run, alongside: Alongside): Promise<RunLog | RunRefusal> {
    const { register } = this.#options;
    const log = await register.create(run, this.#rules, alongside("pending", run.runId));
    if (log === undefined) {
      return refuseRun("rate_limited", "too many runs of this caller are not over yet", {
        ...{ scope: "tenant", retryAfterMs: 1000 },
      });
    }
    this.#continue(log);
    return log;
  }

  #takeUp(): void {
    const { schedule } = this.#options.register;
    for (const entry of this.#options.register.unfinished()) {
      if (entry.status !== "waiting-approval" && !schedule.has(entry)) schedule.add(entry);
    }
  }

  #continue({ run, state }: RunLog): void {
    const { schedule } = this.#options.register;
    const { tenant, principal } = run.owner;
    if (!isOver(state.status)) schedule.add({ runId: run.runId, tenant, principal });
  }
}
