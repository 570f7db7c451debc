/** Runs over HTTP: create, read, cancel, fork.   OpenWOP "rest-endpoints" §runs */
import { isRecord, isTexts, type JsonRecord } from "../../../base/json-value.ts";
import { OVERLAY_SCHEMA, RUN_BODY_SCHEMA } from "../runs/make-run.ts";
import { isRefused } from "../runs/run.ts";
import type { RunCaller } from "../runs/run-entry.ts";
import type { RunHost } from "../runs/run-host.ts";
import type { RunLog } from "../runs/run-log.ts";
import { openInterrupt, runSnapshot } from "../runs/run-state.ts";
import { type ApiAnswer, answer, notFound, refuse, refuseAs } from "./answer.ts";
import type { AnsweredRoute, ApiCall, ApiParts, ApiRoute } from "./api-route.ts";

const MAX_REASON = 1024;

/** The schema of `reason` in the OpenAPI document. */
export const REASON_SCHEMA: JsonRecord = { type: "string", maxLength: MAX_REASON };

/** Passes the body's optional `reason` to the handler; 400 if it is malformed. */
export function withReason(
  handle: (call: ApiCall, reason: string | undefined) => Promise<ApiAnswer>,
): AnsweredRoute["handle"] {
  return (call) => {
    const { reason } = call.body;
    const isText = typeof reason === "string" && reason.length <= MAX_REASON;
    if (reason === undefined || isText) return handle(call, reason);
    const message = `/reason must be a text of at most ${MAX_REASON} characters`;
    return refuse(400, "validation_error", message);
  };
}

const MAX_BULK = 100;

const FORK_SCHEMA = {
  type: "object",
  required: ["mode"],
  additionalProperties: false,
  properties: {
    mode: { enum: ["replay", "branch"] },
    fromSeq: { type: "integer", minimum: 0 },
    runOptionsOverlay: OVERLAY_SCHEMA,
  },
};
const BULK_SCHEMA = {
  type: "object",
  required: ["runIds"],
  properties: {
    runIds: { type: "array", items: { type: "string" }, minItems: 1, maxItems: MAX_BULK },
    reason: REASON_SCHEMA,
  },
};

export const RUN_ROUTES: readonly ApiRoute[] = [
  {
    method: "POST",
    path: "/v1/runs",
    summary: "Create a run of a workflow, or of one agent",
    scopes: ["runs:create"],
    parameters: [
      {
        ...{ name: "X-Dedup", in: "header", schema: { const: "enforce" } },
        description: "Refuses the run while another of its scopeId is not over.",
      },
    ],
    body: RUN_BODY_SCHEMA,
    handle: createRun,
  },
  {
    method: "GET",
    path: "/v1/runs/{runId}",
    summary: "Read a run as it stands",
    scopes: ["runs:read"],
    handle: readRun,
  },
  {
    method: "POST",
    path: "/v1/runs/{runId}/cancel",
    summary: "Cancel a run; one that is over stays as it is",
    scopes: ["runs:cancel"],
    body: { type: "object", properties: { reason: REASON_SCHEMA } },
    handle: withReason(cancelRun),
  },
  {
    method: "POST",
    path: "/v1/runs/{runId}:fork",
    summary: "Fork a run: replay what was recorded, or branch off from a point of it",
    scopes: ["runs:create", "runs:read"],
    body: FORK_SCHEMA,
    handle: forkRun,
  },
  {
    method: "POST",
    path: "/v1/runs:bulk-cancel",
    summary: "Cancel up to a hundred runs",
    scopes: ["runs:cancel"],
    body: BULK_SCHEMA,
    handle: withReason(bulkCancel),
  },
];

async function createRun(call: ApiCall): Promise<ApiAnswer> {
  const { parts, caller, body } = call;
  // Only a test host's keys may choose a version, and this host has none.
  if (call.header("x-force-engine-version") !== undefined) {
    const message = "this host does not let a key choose its engine version";
    return refuse(403, "force_engine_version_forbidden", message);
  }
  let said = notFound();
  const log = await parts.host.create(body, caller.owner, {
    isOnly: call.header("x-dedup") === "enforce",
    alongside: (runId) => {
      said = createdRun(runId);
      return call.keep(said);
    },
  });
  return isRefused(log) ? refuseAs(log) : said;
}

async function readRun({ parts, caller, params }: ApiCall): Promise<ApiAnswer> {
  const log = await parts.host.find(params["runId"] ?? "", caller);
  return isRefused(log) ? refuseAs(log) : answer(snapshotOf(log, parts));
}

async function cancelRun(
  { parts, caller, params }: ApiCall,
  reason: string | undefined,
): Promise<ApiAnswer> {
  const log = await parts.host.cancel(params["runId"] ?? "", reason, caller);
  if (isRefused(log)) return refuseAs(log);
  return answer({ runId: log.run.runId, status: log.state.status });
}

async function bulkCancel(
  { parts, caller, body: { runIds } }: ApiCall,
  reason: string | undefined,
): Promise<ApiAnswer> {
  if (!isTexts(runIds) || runIds.length === 0 || runIds.length > MAX_BULK) {
    const message = `/runIds must be a list of 1 to ${MAX_BULK} run ids`;
    return refuse(400, "validation_error", message, { maxRunIds: MAX_BULK });
  }
  const results: JsonRecord[] = [];
  for (const runId of runIds) results.push(await cancelOne(parts.host, runId, reason, caller));
  // An unknown run id is the client's text and may contain anything.
  return answer(parts.redact({ results }));
}

async function cancelOne(
  host: RunHost,
  runId: string,
  reason: string | undefined,
  caller: RunCaller,
): Promise<JsonRecord> {
  const log = await host.cancel(runId, reason, caller);
  if (isRefused(log)) return { runId, ok: false, error: itemError("not_found", log.message) };
  const { status } = log.state;
  if (status === "cancelled") return { runId, ok: true, status };
  return { runId, ok: false, status, error: itemError("run_terminal", `the run is ${status}`) };
}

/** Names the code twice: `code` for readers of bulk results, `error` as in the envelope. */
function itemError(code: string, message: string): JsonRecord {
  return { code, error: code, message };
}

async function forkRun(call: ApiCall): Promise<ApiAnswer> {
  const { parts, caller, params, body } = call;
  const sourceRunId = params["runId"] ?? "";
  const { mode, fromSeq = 0 } = body;
  let said = notFound();
  const log = await parts.host.fork(sourceRunId, body, caller, (runId) => {
    said = createdRun(runId, { sourceRunId, fromSeq, mode });
    return call.keep(said);
  });
  return isRefused(log) ? refuseAs(log) : said;
}

/** The snapshot over HTTP, with the token and callback URL of an open interrupt. */
function snapshotOf({ run, state }: RunLog, { host, state: kept }: ApiParts): JsonRecord {
  const snapshot = runSnapshot(run, state);
  const interrupt = openInterrupt(state);
  if (interrupt === undefined || !isRecord(snapshot["interrupt"])) return snapshot;
  const { nodeId, interruptId } = interrupt;
  const subject = { runId: run.runId, nodeId, interruptId };
  const interruptToken = kept.tokens.issue(subject, host.endOfWait(interrupt));
  const callbackUrl = `/v1/interrupts/${interruptToken}`;
  return { ...snapshot, interrupt: { ...snapshot["interrupt"], interruptToken, callbackUrl } };
}

function createdRun(runId: string, more: JsonRecord = {}): ApiAnswer {
  const statusUrl = `/v1/runs/${runId}`;
  const body = { runId, ...more, status: "pending", eventsUrl: `${statusUrl}/events`, statusUrl };
  return { ...answer(body, 201), headers: { Location: statusUrl } };
}
