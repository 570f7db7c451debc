/**
 * From a run and a request's body to the fork that is asked for: a replay of its log, or a branch off
 * it.   OpenWOP "rest-endpoints" POST /v1/runs/{runId}:fork, "replay"
 */

import { isRecord, type JsonRecord, quoteValue } from "../../../base/json-value.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import type { RunOwner } from "../agent-executor.ts";
import { invalid, type RunMaker } from "./make-run.ts";
import type { ForkMode, Run } from "./run.ts";
import type { RunLog } from "./run-log.ts";
import { type RunRefusal, refuseRun } from "./run-refusal.ts";
import type { RunState } from "./run-state.ts";

const MODES: readonly ForkMode[] = ["replay", "branch"];

/** Makes the fork that a body asks for, or says why there is none. */
export function makeFork(
  maker: RunMaker,
  source: RunLog,
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
  const { run } = source;
  const copied = mode === "replay" ? length - endOf(source.state) : fromSeq;
  const { parent: _, ...own } = run;
  return {
    ...own,
    ...{ runId: uuidv7(), createdAt: maker.register.now() },
    owner: { ...owner, tenant: run.owner.tenant },
    source: { runId: run.runId, mode, fromSeq, copied },
    ...maker.redact(withOverlay(run, overlay)),
  };
}

/** The number of events at a log's end that cancelled the run: its replay goes on before them. */
function endOf({ status, nodes }: RunState): number {
  if (status !== "cancelled") return 0;
  return Object.values(nodes).some((node) => node.status === "cancelled") ? 2 : 1;
}

interface AskedFork {
  readonly mode: ForkMode;
  readonly fromSeq: number;
  readonly overlay: JsonRecord;
}

function readFork({ overlay: shape, redact }: RunMaker, body: JsonRecord): AskedFork | RunRefusal {
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
