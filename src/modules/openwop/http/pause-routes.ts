/** Pausing runs over HTTP, and letting them go on.   OpenWOP "rest-endpoints" §pause, §resume */
import { quoteValue } from "../../../base/json-value.ts";
import { DRAIN_POLICIES } from "../runs/pause-request.ts";
import type { RunLog } from "../runs/run-log.ts";
import { isRefused } from "../runs/run-refusal.ts";
import { type ApiAnswer, answer, refuse, refuseAs } from "./answer.ts";
import type { ApiCall, ApiRoute } from "./api-route.ts";
import { badReason, REASON_SCHEMA, readReason } from "./reason.ts";

/** The operations. */
export const PAUSE_ROUTES: readonly ApiRoute[] = [
  {
    method: "POST",
    path: "/v1/runs/{runId}:pause",
    summary: "Pause a run, at once or behind the node that is executed",
    scopes: ["runs:cancel"],
    body: {
      type: "object",
      properties: { drainPolicy: { enum: DRAIN_POLICIES }, reason: REASON_SCHEMA },
    },
    handle: pauseRun,
  },
  {
    method: "POST",
    path: "/v1/runs/{runId}:resume",
    summary: "Let a paused run go on",
    scopes: ["runs:cancel"],
    body: { type: "object", properties: { reason: REASON_SCHEMA } },
    handle: resumeRun,
  },
];

async function pauseRun({ parts, caller, params, body }: ApiCall): Promise<ApiAnswer> {
  const { drainPolicy: named = "drain-current-node" } = body;
  const reason = readReason(body);
  if (reason === null) return badReason();
  const drainPolicy = DRAIN_POLICIES.find((one) => one === named);
  if (drainPolicy === undefined) {
    const message = `drainPolicy is ${quoteValue(parts.redact(named))}, expected one of ${DRAIN_POLICIES.join(", ")}`;
    return refuse(400, "validation_error", message, { supported: DRAIN_POLICIES });
  }
  const request = { drainPolicy, ...(reason === undefined ? {} : { reason }) };
  const log = await parts.host.pause(params["runId"] ?? "", request, caller);
  if (isRefused(log)) return refuseAs(log);
  const { pausedAt } = log.state;
  return accepted(log, { drainPolicy, ...(pausedAt === undefined ? {} : { pausedAt }) });
}

async function resumeRun({ parts, caller, params, body }: ApiCall): Promise<ApiAnswer> {
  const reason = readReason(body);
  if (reason === null) return badReason();
  const log = await parts.host.resume(params["runId"] ?? "", reason, caller);
  if (isRefused(log)) return refuseAs(log);
  const { resumedAt } = log.state;
  return accepted(log, resumedAt === undefined ? {} : { resumedAt });
}

function accepted({ run: { runId }, state: { status } }: RunLog, more: object): ApiAnswer {
  return answer({ runId, status, ...more }, 202);
}
