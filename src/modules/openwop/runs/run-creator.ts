/** From a request to a run that is kept, or to the reason why there is none: a new run, and a fork. */
import type { JsonRecord } from "../../../base/json-value.ts";
import type { CompiledSchema, SchemaCompiler } from "../../../schema/schema.ts";
import type { Change } from "../../../state/store.ts";
import type { AgentCatalog } from "../agent-catalog.ts";
import type { RunOwner } from "../agent-executor.ts";
import type { Workflows } from "../workflows/load-workflows.ts";
import { compileOverlay, type ForkedRun, makeFork } from "./fork-run.ts";
import { compileRunBody, makeRun, type RunMaker } from "./make-run.ts";
import type { Run, RunStatus } from "./run.ts";
import type { RunLog } from "./run-log.ts";
import { isRefused, type RunRefusal, refuseRun } from "./run-refusal.ts";
import type { LogRules, NotCreated, WorkflowRuns } from "./workflow-runs.ts";

/** The parts that runs are created with. */
export interface RunCreatorOptions {
  readonly register: WorkflowRuns;
  readonly workflows: Workflows;
  readonly catalog: AgentCatalog;
  readonly compiler: SchemaCompiler;
  readonly rules: LogRules;
}

/** Changes that are made together with what is answered. */
export type Alongside = (status: RunStatus, runId: string) => readonly Change[];

/** Options of creating a run. */
export interface CreateOptions {
  readonly alongside?: Alongside;
  /** No other run of its scope may be under way. */
  readonly isOnly?: boolean;
}

/** Nothing is changed besides. */
export const NOTHING: Alongside = () => [];
const RETRY_AFTER_S = 1;

export class RunCreator {
  readonly maker: RunMaker;
  readonly #options: RunCreatorOptions;
  readonly #overlay: CompiledSchema;

  constructor(options: RunCreatorOptions) {
    const { workflows, catalog, compiler, register, rules } = options;
    const { redact } = rules;
    this.#options = options;
    this.maker = { workflows, catalog, redact, body: compileRunBody(compiler), now: register.now };
    this.#overlay = compileOverlay(compiler);
  }

  /** Keeps the run that a body asks for. */
  async create(
    body: JsonRecord,
    owner: RunOwner,
    options: CreateOptions = {},
  ): Promise<RunLog | RunRefusal> {
    const run = makeRun(this.maker, body, owner);
    // Members have names that clients choose, too.
    return isRefused(run) ? this.maker.redact(run) : this.#keep(run, options);
  }

  /** Keeps a fork of a run. */
  async fork(
    source: ForkedRun,
    body: JsonRecord,
    owner: RunOwner,
    alongside: Alongside,
  ): Promise<RunLog | RunRefusal> {
    const { redact, now } = this.maker;
    const fork = makeFork({ overlay: this.#overlay, redact, now }, source, body, owner);
    return isRefused(fork) ? redact(fork) : this.#keep(fork, { alongside });
  }

  async #keep(
    run: Run,
    { alongside = NOTHING, isOnly = false }: CreateOptions,
  ): Promise<RunLog | RunRefusal> {
    const { register, rules } = this.#options;
    const created = await register.create(run, rules, {
      ...{ alongside: alongside("pending", run.runId), isOnly },
    });
    return "kind" in created ? refuseCreation(created) : created;
  }
}

function refuseCreation(refusal: NotCreated): RunRefusal {
  if (refusal.kind === "active") {
    const details = { activeRunId: refusal.runId, retryAfter: RETRY_AFTER_S };
    return refuseRun("run_already_active", "another run of this scope is not over yet", details);
  }
  const details = { scope: "key", retryAfterMs: 1000 };
  return refuseRun("rate_limited", "too many runs of this caller are not over yet", details);
}
