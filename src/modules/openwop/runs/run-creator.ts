/** From a request to a run that is kept, or to the reason why there is none: a new run, and a fork. */

import { isRecord, type JsonRecord, quoteValue } from "../../../base/json-value.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import type { CompiledSchema, SchemaCompiler } from "../../../schema/schema.ts";
import type { AlsoChange } from "../../../state/collection-write.ts";
import type { AgentCatalog } from "../agent-catalog.ts";
import type { RunOwner } from "../agent-executor.ts";
import type { Workflows } from "../workflows/load-workflows.ts";
import { compileRunBody, invalid, makeRun, type RunMaker } from "./make-run.ts";
import type { ForkMode, Run, RunStatus } from "./run.ts";
import { OVERLAY_SCHEMA } from "./run-body-schema.ts";
import type { Redact, RunLog } from "./run-log.ts";
import { isRefused, type RunRefusal, refuseRun } from "./run-refusal.ts";
import type { RunState } from "./run-state.ts";
import type { LogRules, NotCreated, WorkflowRuns } from "./workflow-runs.ts";

interface RunCreatorOptions {
  readonly register: WorkflowRuns;
  readonly workflows: Workflows;
  readonly catalog: AgentCatalog;
  readonly compiler: SchemaCompiler;
  readonly rules: LogRules;
}

/** Changes that are made together with what is answered. */
export type Alongside = (status: RunStatus, runId: string) => readonly AlsoChange[];

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

interface ForkMaker {
  readonly overlay: CompiledSchema;
  readonly redact: Redact;
  now(): number;
}

/** The run that is forked. */
interface ForkedRun {
  readonly run: Run;
  readonly state: RunState;
}

const MODES: readonly ForkMode[] = ["replay", "branch"];

/** Compiles the shape of overlays. */
function compileOverlay(compiler: SchemaCompiler): CompiledSchema {
  const place = { file: "POST /v1/runs/{runId}:fork", key: "runOptionsOverlay" };
  const { compiled } = compiler.compile(OVERLAY_SCHEMA, place);
  if (compiled === undefined) throw new Error("the schema of overlays does not compile");
  return compiled;
}

/** Makes the fork that a body asks for, or says why there is none. */
function makeFork(
  maker: ForkMaker,
  source: ForkedRun,
  body: JsonRecord,
  owner: RunOwner,
): Run | RunRefusal {
  const asked = readFork(maker, body);
  if ("code" in asked) return asked;
  const { mode, fromSeq, overlay } = asked;
  const { nextSequence: length } = source.state;
  if (fromSeq >= length && !(fromSeq === 0 && length === 0)) {
    const message = `fromSeq ${fromSeq} is past the log, which has ${length} events`;
    return refuseRun("fork_invalid_seq", message, { fromSeq, length });
  }
  const now = maker.now();
  const { run } = source;
  const copied = mode === "replay" ? length - endOf(source.state) : fromSeq;
  const { parent: _, ...own } = run;
  return {
    ...own,
    ...{ runId: uuidv7(), createdAt: now },
    owner: { ...owner, tenant: run.owner.tenant },
    source: { runId: run.runId, mode, fromSeq, copied },
    ...maker.redact(withOverlay(run, overlay)),
  };
}

/**
 * The number of events at a log's end that cancelled the run: its replay goes on before them.
 */
function endOf({ status, nodes }: RunState): number {
  if (status !== "cancelled") return 0;
  return Object.values(nodes).some((node) => node.status === "cancelled") ? 2 : 1;
}

interface AskedFork {
  readonly mode: ForkMode;
  readonly fromSeq: number;
  readonly overlay: JsonRecord;
}

function readFork({ overlay: shape, redact }: ForkMaker, body: JsonRecord): AskedFork | RunRefusal {
  const { mode: named, fromSeq = 0, runOptionsOverlay: overlay = {}, ...others } = body;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    return refuseRun("validation_error", `${quoteValue(redact(unknown))} is no member of a fork`);
  }
  const mode = MODES.find((one) => one === named);
  if (mode === undefined) {
    const message = `mode is ${quoteValue(redact(named))}, expected "replay" or "branch"`;
    return refuseRun("validation_error", message, { supported: MODES });
  }
  if (mode === "branch" && body["fromSeq"] === undefined) {
    return refuseRun("validation_error", "fromSeq is missing, a branch begins somewhere");
  }
  if (typeof fromSeq !== "number" || !Number.isSafeInteger(fromSeq) || fromSeq < 0) {
    const message = `fromSeq is ${quoteValue(redact(fromSeq))}, expected a whole number from 0 on`;
    return refuseRun("validation_error", message);
  }
  if (!isRecord(overlay)) {
    return refuseRun("validation_error", "runOptionsOverlay must be an object");
  }
  if (mode === "replay" && Object.keys(overlay).length > 0) {
    return refuseRun("validation_error", "a replay changes no options: the overlay must be empty");
  }
  const violations = shape.check(overlay);
  return violations === undefined ? { mode, fromSeq, overlay } : invalid(violations);
}

function withOverlay(
  run: Run,
  { configurable, tags, metadata }: JsonRecord,
): Pick<Run, "configurable" | "tags" | "metadata"> {
  return {
    configurable: isRecord(configurable)
      ? { ...run.configurable, ...configurable }
      : run.configurable,
    tags: Array.isArray(tags) ? tags : run.tags,
    metadata: isRecord(metadata) ? { ...run.metadata, ...metadata } : run.metadata,
  };
}
