/**
 * The tool calls of one turn, one after the other: each is told before it is made, and answered for
 * after it, in a pair of events. What is not offered is not told at all, since it never was a call;
 * what lacks a scope is told, and not made.   OpenWOP RFC 0002 §B, RFC 0064
 */

import { raceAbort } from "../../../base/deadline.ts";
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { fillPath } from "../../../endpoint/path-template.ts";
import type { AgentDocument } from "../../../identity/agent-document.ts";
import { compileGrants } from "../../../identity/authority-scope.ts";
import { canonicalForm, sha256Hex } from "../../../identity/canonical-form.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import type { AgentEvent, RunError } from "../agent-executor.ts";
import type { Redactor } from "../redaction.ts";
import type { RuntimeTurn, ToolAnswer } from "../runtime/agent-runtime.ts";
import { failedTurn } from "./outcome.ts";
import type { EndpointTool, HostedAnswer, ToolHost } from "./tool-surface.ts";

/** The agent that calls, its run, and the tools. */
export interface ToolCallsOptions {
  readonly agentId: string;
  readonly principal: string;
  readonly runId: string;
  /** Undefined: the agent has no identity here, and can call nothing. */
  readonly document: AgentDocument | undefined;
  readonly scopes: readonly string[];
  readonly tools: ReadonlyMap<string, EndpointTool>;
  readonly maxCalls: number;
  /** Takes one call of a tool, or says in how many milliseconds there is one again. */
  takeRate(principal: string, toolName: string): number | undefined;
  readonly host: ToolHost;
  readonly redactor: Redactor;
  readonly signal: AbortSignal;
  emit(event: AgentEvent): Promise<string>;
  /** Called before the first call is told. */
  beforeFirst(tool: EndpointTool): Promise<void>;
}

type ReturnStatus = "ok" | "error" | "forbidden" | "rate_limited";

/** The outcome of a call, as its second event has it. */
interface Returned {
  readonly status: ReturnStatus;
  readonly answer: ToolAnswer;
  readonly durationMs?: number;
}

export class ToolCalls {
  readonly #options: ToolCallsOptions;
  #made = 0;
  /** Counts the attempts that began and that ended. */
  #round = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: ToolCallsOptions) {
    this.#options = options;
  }

  /**
   * How one attempt makes its calls. Each waits for those before it, and never rejects for what the
   * agent asked for.
   */
  begin(): RuntimeTurn["callTool"] {
    this.#round += 1;
    const round = this.#round;
    return (toolId, input) => {
      const next = this.#last.then(() => this.#call(toolId, input, round));
      this.#last = next.catch(() => undefined);
      return next;
    };
  }

  /** Ends the attempt: waits for the call that is being made; those after it are not. */
  async end(): Promise<void> {
    this.#round += 1;
    await this.#last;
  }

  async #call(toolId: string, written: unknown, round: number): Promise<ToolAnswer> {
    const { tools, maxCalls, signal, redactor } = this.#options;
    if (round !== this.#round || signal.aborted) return failedTurn("turn_over", "the turn is over");
    const tool = tools.get(toolId);
    if (tool === undefined) return failedTurn("tool_not_allowed", "there is no such tool");
    if (!isRecord(written))
      return failedTurn("invalid_arguments", "the arguments must be an object");
    // The call is told as it is made: an agent hands no secret on.
    const input = redactor.value(written) as JsonRecord;
    const filled = fillPath(tool.path, new Map(Object.entries(input)));
    if (filled.fault !== undefined) return failedTurn("invalid_arguments", filled.fault);
    if (this.#made >= maxCalls) {
      return failedTurn("tool_limit_exceeded", `a turn may call ${maxCalls} tools`);
    }
    this.#made += 1;
    if (this.#made === 1) await this.#options.beforeFirst(tool);
    const callId = uuidv7();
    const causationId = await this.#tellCalled(tool, callId, input);
    const returned = await this.#make(tool, filled.path, input);
    await this.#tellReturned(tool, callId, causationId, returned);
    return returned.answer;
  }

  #tellCalled({ toolId }: EndpointTool, callId: string, inputs: JsonRecord): Promise<string> {
    const { agentId, principal, emit } = this.#options;
    const argsHash = sha256Hex(canonicalForm(inputs));
    const told = { agentId, toolName: toolId, callId, inputs, argsHash, principal };
    return emit({ type: "agent.toolCalled", payload: { ...told, transport: "native" } });
  }

  async #make(tool: EndpointTool, path: string, input: JsonRecord): Promise<Returned> {
    const { scopes, document, host, runId, signal, principal, takeRate } = this.#options;
    const { method, requiredScopes } = tool;
    const grants = compileGrants(scopes);
    const missing = requiredScopes.filter((scope) => !grants.covers(scope));
    if (document === undefined || missing.length > 0) return forbidden(tool);
    const waitMs = takeRate(principal, tool.toolId);
    if (waitMs !== undefined) return rateLimited(tool, waitMs);
    const startedAt = performance.now();
    const call = { agent: document, scopes, method, path, input, taskId: runId, signal };
    const answered = await raceAbort(host.call(call), signal);
    const durationMs = Math.round(performance.now() - startedAt);
    if (answered === "aborted") {
      const message = "the turn ended before the endpoint answered, what it did is not known";
      return { status: "error", answer: failedTurn("turn_over", message), durationMs };
    }
    const returned = this.#judge(tool, answered);
    return returned.status === "forbidden" ? returned : { ...returned, durationMs };
  }

  /** The model is told no more than the events say. */
  #judge(tool: EndpointTool, { status, body }: HostedAnswer): Returned {
    const { redactor } = this.#options;
    // 261 and 262 ask for something first, and nothing was done.
    if (status >= 200 && status < 300 && status !== 261 && status !== 262) {
      return {
        status: "ok",
        answer: { kind: "returned", outcome: redactor.value(body ?? null) },
      };
    }
    if (FORBIDDEN.has(status)) return forbidden(tool, status);
    const error = isRecord(body) && isRecord(body["error"]) ? body["error"] : {};
    const told: RunError = {
      code: textOr(error["code"], "tool_failed"),
      message: redactor.text(textOr(error["message"], `the endpoint answered ${status}`)),
      details: { status },
    };
    const outcome = status === 429 ? "rate_limited" : "error";
    return { status: outcome, answer: { kind: "failed", error: told } };
  }

  async #tellReturned(
    { toolId }: EndpointTool,
    callId: string,
    causationId: string,
    { status, answer, durationMs }: Returned,
  ): Promise<void> {
    const { agentId, emit } = this.#options;
    const payload = {
      ...{ agentId, toolName: toolId, callId, status },
      ...(answer.kind === "returned" ? { outcome: answer.outcome } : { error: answer.error }),
      ...(durationMs === undefined ? {} : { durationMs }),
    };
    await emit({ type: "agent.toolReturned", payload, causationId });
  }
}

/** Refusals for want of authority, however far the call came. */
const FORBIDDEN: ReadonlySet<number> = new Set([262, 401, 403, 455, 457]);

function forbidden({ toolId, requiredScopes }: EndpointTool, status?: number): Returned {
  const details = {
    ...{ scope: "tool", toolName: toolId, requiredScopes },
    ...(status === undefined ? {} : { status }),
  };
  const message = "the agent and whoever started the run do not both hold what the tool requires";
  return { status: "forbidden", answer: failedTurn("forbidden", message, details) };
}

/** Nothing was called: it was asked for too often. */
function rateLimited({ toolId: toolName }: EndpointTool, retryAfterMs: number): Returned {
  const message = "the tool is called too often for whoever started the run";
  const details = { scope: "tool", toolName, retryAfterMs };
  return { status: "rate_limited", answer: failedTurn("rate_limited", message, details) };
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === "string" && value !== "" ? value : otherwise;
}
