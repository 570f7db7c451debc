/**
 * The seams through which the public suite drives a host: one turn of an agent, and the verdict on one tool call. They
 * exist only under `conformance`.   OpenWOP "host-sample-test-seams"
 */
import { hash } from "node:crypto";
import { given, isRecord, type JsonRecord, listIn } from "../../../base/json-value.ts";
import { canonicalTextOf } from "../../../identity/canonical-form.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import type { AgentEvent, AgentOutcome } from "../agent-executor.ts";
import { isRefused } from "../runs/run.ts";
import { readConfidence } from "../turn/turn-rules.ts";
import { type ApiAnswer, answer, refuse, refuseAs } from "./answer.ts";
import type { ApiCall, ApiRoute } from "./api-route.ts";

const DEFAULT_THRESHOLD = 0.7;

export const SEAM_ROUTES: readonly ApiRoute[] = [
  {
    method: "POST",
    path: "/v1/host/sample/agents/{agentId}/dispatch",
    summary: "Take one turn of an agent, outside of any run",
    scopes: ["runs:create"],
    isConformance: true,
    handle: dispatch,
  },
  {
    method: "POST",
    path: "/v1/host/sample/toolhooks/invoke",
    summary: "Judge one tool call",
    scopes: ["runs:create"],
    isConformance: true,
    handle: invoke,
  },
  {
    method: "GET",
    path: "/v1/host/sample/runs/{runId}/effects",
    summary: "Count what the side-effect nodes of a run did",
    scopes: ["runs:read"],
    isConformance: true,
    handle: countEffects,
  },
];

async function dispatch(call: ApiCall): Promise<ApiAnswer> {
  const { parts, key, params, body, caller } = call;
  const { agentId = "" } = params;
  const entry = parts.catalog.find(agentId, key.tenant);
  if (entry === undefined) return refuse(404, "agent_not_found", "there is no such agent");
  const { task = {}, availableTools, confidenceThreshold, simulateConfidence } = body;
  const events: JsonRecord[] = [];
  const threshold = readThreshold(confidenceThreshold, entry.confidenceThreshold);
  const outcome = await parts.executor.takeTurn({
    ...{ agentId, task, owner: caller.owner, signal: call.signal },
    ...{ runId: uuidv7(), configurable: { escalationThreshold: threshold } },
    validatesHandoff: body["validateHandoff"] !== false,
    emit: async (event) => record(events, event),
  });
  const observed = readConfidence(simulateConfidence)?.observed ?? confidenceOf(events);
  const { persona, modelClass, toolAllowlist } = entry;
  const toolSurface = surfaceOf(toolAllowlist, availableTools);
  return answer({
    ...{ agentId, persona, modelClass, toolSurface, threshold },
    ...given({ confidence: observed }),
    ...standing(outcome, observed, threshold),
    events,
  });
}

/** Records an event of the turn. */
function record(events: JsonRecord[], { type, payload, causationId }: AgentEvent): string {
  const eventId = uuidv7();
  const cause = causationId === undefined ? {} : { causationId };
  events.push({ eventId, type, ...cause, ...payload });
  return eventId;
}

function confidenceOf(events: readonly JsonRecord[]): number | undefined {
  const decided = events.findLast(({ type }) => type === "agent.decided");
  const confidence = decided?.["confidence"];
  return typeof confidence === "number" ? confidence : undefined;
}

function readThreshold(asked: unknown, declared: unknown): number {
  if (typeof asked === "number") return asked;
  return typeof declared === "number" ? declared : DEFAULT_THRESHOLD;
}

/** The tools offered to the agent: the available ones that its allowlist has. */
function surfaceOf(allowlist: unknown, available: unknown): readonly unknown[] {
  const allowed = listIn(allowlist);
  return Array.isArray(available) ? available.filter((tool) => allowed.includes(tool)) : allowed;
}

function standing(
  outcome: AgentOutcome,
  observed: number | undefined,
  threshold: number,
): JsonRecord {
  if (outcome.kind === "failed") {
    const { code, message } = outcome.error;
    return { status: "failed", error: { code: code.replace(/^handoff_/, ""), message } };
  }
  const isUnsure =
    outcome.kind === "low-confidence" || (observed !== undefined && observed < threshold);
  return { status: isUnsure ? "escalated" : "completed", result: outcome.result };
}

/** RFC 0140: counts real effects, not log entries. */
async function countEffects({ parts, params, caller }: ApiCall): Promise<ApiAnswer> {
  const log = await parts.host.find(params["runId"] ?? "", caller);
  if (isRefused(log)) return refuseAs(log);
  const effects = await parts.state.effects.of(log.run.runId);
  return answer({ effects, total: effects.length });
}

/** RFC 0064: authorization, then rate, then the call; arguments are redacted before hashing. */
function invoke({ parts, key, body }: ApiCall): ApiAnswer {
  const { principal, toolName, requiredScopes = [], args = {} } = body;
  if (typeof principal !== "string" || typeof toolName !== "string") {
    return refuse(400, "validation_error", "/principal and /toolName must be texts");
  }
  const inputs = parts.redact(args);
  const canonical = canonicalTextOf(inputs);
  if (canonical === undefined) {
    return refuse(400, "validation_error", "/args has no canonical form");
  }
  const argsHash = hash("sha256", canonical);
  const named = { agentId: "core.system", toolName, callId: uuidv7() };
  const held = principal === key.name ? key.agtpScopes : [];
  const isCovered =
    Array.isArray(requiredScopes) && requiredScopes.every((scope) => held.includes(String(scope)));
  return answer({
    toolCalled: { ...named, argsHash, principal, transport: "native" },
    toolReturned: {
      ...named,
      ...judge(body, isCovered, () => parts.state.toolRates.take(principal, toolName)),
    },
  });
}

function judge(
  body: JsonRecord,
  isCovered: boolean,
  takeRate: () => number | undefined,
): JsonRecord {
  const { toolName, requiredScopes, simulateRateLimitExhausted, simulateToolError } = body;
  if (!isCovered) {
    const details = { scope: "tool", toolName, requiredScopes };
    const message = "the principal does not hold what the tool requires";
    return { status: "forbidden", error: { code: "forbidden", message, details } };
  }
  const retryAfterMs = simulateRateLimitExhausted === true ? 1000 : takeRate();
  if (retryAfterMs !== undefined) {
    const message = "the tool was called too often";
    const details = { scope: "tool", toolName, retryAfterMs };
    return { status: "rate_limited", error: { code: "rate_limited", message, details } };
  }
  const isFailure = simulateToolError === true || isRecord(simulateToolError);
  if (isFailure) {
    const error = { code: "tool_error", message: "the tool failed" };
    return { status: "error", error, durationMs: 0 };
  }
  return { status: "ok", outcome: {}, durationMs: 0 };
}
