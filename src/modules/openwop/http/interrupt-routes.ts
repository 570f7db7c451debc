/** Answers interrupts of runs: by node, or by the token of a snapshot.   OpenWOP "interrupt" */
import { given, quoteValue } from "../../../base/json-value.ts";
import { interruptOf } from "../runs/answer-run.ts";
import { DRAIN_POLICIES, isOver, isRefused, refuseRun } from "../runs/run.ts";
import type { RunLog } from "../runs/run-log.ts";
import { type Interrupt, interruptView } from "../runs/run-state.ts";
import { type ApiAnswer, answer, refuse, refuseAs } from "./answer.ts";
import type { ApiCall, ApiRoute } from "./api-route.ts";
import { REASON_SCHEMA, withReason } from "./run-routes.ts";

const WORD_SCHEMA = { type: "object", required: ["resumeValue"], properties: { resumeValue: {} } };

export const INTERRUPT_ROUTES: readonly ApiRoute[] = [
  {
    method: "POST",
    path: "/v1/runs/{runId}/interrupts/{nodeId}",
    summary: "Answer what a node waits for",
    scopes: ["approvals:respond"],
    body: WORD_SCHEMA,
    handle: (call) => {
      const { runId = "", nodeId = "" } = call.params;
      return respond(call, runId, nodeId);
    },
  },
  {
    method: "GET",
    path: "/v1/interrupts/{token}",
    summary: "Read what is waited for",
    scopes: ["approvals:respond"],
    handle: readInterrupt,
  },
  {
    method: "POST",
    path: "/v1/interrupts/{token}",
    summary: "Answer what is waited for",
    scopes: ["approvals:respond"],
    body: WORD_SCHEMA,
    handle: async (call) => {
      const open = await findOpen(call);
      if ("status" in open) return open;
      const { nodeId, interruptId } = open.interrupt;
      return respond(call, open.runId, nodeId, interruptId);
    },
  },
];

async function respond(
  call: ApiCall,
  runId: string,
  nodeId: string,
  interruptId?: string,
): Promise<ApiAnswer> {
  const { parts, caller, body, key } = call;
  const { resumeValue } = body;
  if (resumeValue === undefined) {
    return refuse(400, "validation_error", "/resumeValue is missing");
  }
  const word = { resumeValue, by: key.name, ...given({ interruptId }) };
  let said = answer({});
  const answered = await parts.host.answer(runId, nodeId, word, caller, (votes) => {
    const status = votes === undefined ? "resolved" : "pending";
    said = answer({ runId, nodeId, status, ...given({ votes }) });
    return call.keep(said);
  });
  return isRefused(answered) ? refuseAs(answered) : said;
}

async function readInterrupt(call: ApiCall): Promise<ApiAnswer> {
  const open = await findOpen(call);
  if ("status" in open) return open;
  const { runId, interrupt, expiresAt } = open;
  const { requestedAt } = interrupt;
  const times = { requestedAt, expiresAt: new Date(expiresAt).toISOString() };
  return answer({ runId, ...interruptView(interrupt), ...times });
}

interface OpenInterrupt {
  readonly runId: string;
  readonly interrupt: Interrupt;
  readonly expiresAt: number;
}

/** RFC 0093: a token is void once its interrupt is answered or the run is over. */
async function findOpen(call: ApiCall): Promise<OpenInterrupt | ApiAnswer> {
  const { parts, params, caller } = call;
  const named = parts.state.tokens.read(params["token"] ?? "");
  if (named === undefined) return unknownInterrupt();
  if (named === "expired") {
    return refuseAs(refuseRun("interrupt_expired", "the token's half hour is over"));
  }
  const { runId, nodeId, interruptId, expiresAt } = named;
  const log = await parts.host.find(runId, caller);
  const interrupt = isRefused(log) ? undefined : interruptOf(log.state, nodeId);
  if (isRefused(log) || interrupt?.interruptId !== interruptId) return unknownInterrupt();
  if (!interrupt.isResolved && !isOver(log.state.status)) return { runId, interrupt, expiresAt };
  const message = "what the token was for has its answer, or the run is over";
  return refuseAs(refuseRun("interrupt_already_resolved", message));
}

function unknownInterrupt(): ApiAnswer {
  return refuseAs(refuseRun("interrupt_not_found", "nothing that is waited for has this token"));
}

/** Routes that pause and resume runs.   OpenWOP "rest-endpoints" §pause, §resume */
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
    handle: withReason(pauseRun),
  },
  {
    method: "POST",
    path: "/v1/runs/{runId}:resume",
    summary: "Let a paused run go on",
    scopes: ["runs:cancel"],
    body: { type: "object", properties: { reason: REASON_SCHEMA } },
    handle: withReason(resumeRun),
  },
];

async function pauseRun(
  { parts, caller, params, body }: ApiCall,
  reason: string | undefined,
): Promise<ApiAnswer> {
  const { drainPolicy: named = "drain-current-node" } = body;
  const drainPolicy = DRAIN_POLICIES.find((one) => one === named);
  if (drainPolicy === undefined) {
    const message = `drainPolicy is ${quoteValue(parts.redact(named))}, expected one of ${DRAIN_POLICIES.join(", ")}`;
    return refuse(400, "validation_error", message, { supported: DRAIN_POLICIES });
  }
  const request = { drainPolicy, ...given({ reason }) };
  const log = await parts.host.pause(params["runId"] ?? "", request, caller);
  if (isRefused(log)) return refuseAs(log);
  const { pausedAt } = log.state;
  return accepted(log, { drainPolicy, ...given({ pausedAt }) });
}

async function resumeRun(
  { parts, caller, params }: ApiCall,
  reason: string | undefined,
): Promise<ApiAnswer> {
  const log = await parts.host.resume(params["runId"] ?? "", reason, caller);
  if (isRefused(log)) return refuseAs(log);
  const { resumedAt } = log.state;
  return accepted(log, resumedAt === undefined ? {} : { resumedAt });
}

function accepted({ run: { runId }, state: { status } }: RunLog, more: object): ApiAnswer {
  return answer({ runId, status, ...more }, 202);
}
