/**
 * The tools of a turn: endpoints of this server that exist and that the agent's manifest allows, as
 * `agtp:<METHOD> <path>`; other ids match nothing. Calls go through the pipeline in the agent's name, with the turn's
 * scopes only.   OpenWOP RFC 0002 §A14, RFC 0072 §D, AGTP "Authority Scope"
 */

import { hash } from "node:crypto";
import { raceAbort } from "../../../base/deadline.ts";
import { given, isRecord, type JsonRecord, recordIn, textIn } from "../../../base/json-value.ts";
import type { Redactor } from "../../../base/redaction.ts";
import { Turns } from "../../../base/turns.ts";
import type { EndpointDefinition } from "../../../endpoint/endpoint.ts";
import { fillPath } from "../../../endpoint/path-template.ts";
import type { CallSurroundings } from "../../../handlers/call-upstream.ts";
import type { AgentDocument } from "../../../identity/agent-document.ts";
import { compileGrants } from "../../../identity/authority-scope.ts";
import { canonicalTextOf } from "../../../identity/canonical-form.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import { type AgentTurn, failed, type RunError } from "../agent-executor.ts";
import type { InstalledAgent } from "../installed-agent.ts";
import type { Authority } from "../run-authority.ts";
import type { OfferedTool, RuntimeTurn, ToolAnswer } from "../runtime/agent-runtime.ts";

/** A tool and its endpoint. */
interface EndpointTool extends OfferedTool {
  readonly method: string;
  /** As in the manifest: a path template, or a path that matches one. */
  readonly path: string;
  readonly requiredScopes: readonly string[];
}

/** Finds the endpoint of a method and a path or path template. */
type FindEndpoint = (method: string, path: string) => EndpointDefinition | undefined;

const TOOL_ID = /^agtp:([A-Z]{3,32}) (\/\S{0,1023})$/;

/** Parses a tool id; undefined if it names no endpoint. */
export function readToolId(
  toolId: string,
): { readonly method: string; readonly path: string } | undefined {
  const [, method, path] = TOOL_ID.exec(toolId) ?? [];
  return method === undefined || path === undefined ? undefined : { method, path };
}

/** The tools of an allowlist, by their ids. */
function toolSurface(
  allowlist: readonly string[],
  findEndpoint: FindEndpoint,
): ReadonlyMap<string, EndpointTool> {
  const tools = new Map<string, EndpointTool>();
  for (const toolId of allowlist) {
    const named = readToolId(toolId);
    if (named === undefined) continue;
    const { method, path } = named;
    const endpoint = findEndpoint(method, path);
    if (endpoint === undefined) continue;
    const { description, inputSchema, requiredScopes } = endpoint;
    tools.set(toolId, { toolId, method, path, description, inputSchema, requiredScopes });
  }
  return tools;
}

export interface HostedCall {
  readonly agent: AgentDocument;
  readonly scopes: readonly string[];
  readonly method: string;
  /** With parameters filled in. */
  readonly path: string;
  readonly input: JsonRecord;
  readonly taskId: string;
  /** The turn that waits for this call. */
  readonly waitedForBy: CallSurroundings;
  readonly signal: AbortSignal;
}

export interface HostedAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** Calls endpoints as tools. */
export interface ToolHost {
  readonly findEndpoint: FindEndpoint;
  call(call: HostedCall): Promise<HostedAnswer>;
}

/** The dependencies of every turn's calls. */
export interface ToolCallParts {
  readonly host: ToolHost;
  readonly redactor: Redactor;
  readonly maxToolCalls: number;
  /** Takes one call from a tool's rate limit, or returns the milliseconds until one is available. */
  takeRate(principal: string, toolName: string): number | undefined;
}

/** The agent of a turn, with its authority. */
export interface TurnTaker {
  readonly agent: InstalledAgent;
  /** Undefined if the agent has no identity here and so cannot call anything. */
  readonly document: AgentDocument | undefined;
  /** The scopes of its tool calls at this moment. */
  authority(): Authority;
  readonly turn: AgentTurn;
}

/** A turn's signal and events. */
interface TurnStage {
  readonly signal: AbortSignal;
  readonly surroundings: CallSurroundings;
  readonly emit: AgentTurn["emit"];
  /** Called before the event of the first call. */
  beforeFirst(tool: EndpointTool): Promise<void>;
}

type ReturnStatus = "ok" | "error" | "forbidden" | "rate_limited";

/** The outcome of a call, as in agent.toolReturned. */
interface Returned {
  readonly status: ReturnStatus;
  readonly answer: ToolAnswer;
  readonly durationMs?: number;
}

export class ToolCalls {
  /** By tool id. */
  readonly tools: ReadonlyMap<string, EndpointTool>;
  readonly #parts: ToolCallParts;
  readonly #taker: TurnTaker;
  readonly #stage: TurnStage;
  #made = 0;
  /** Counts the starts and ends of attempts. */
  #round = 0;
  readonly #calls = new Turns();

  constructor(parts: ToolCallParts, taker: TurnTaker, stage: TurnStage) {
    this.#parts = parts;
    this.#taker = taker;
    this.#stage = stage;
    this.tools = toolSurface(taker.agent.toolAllowlist, parts.host.findEndpoint);
  }

  /** Starts an attempt and returns its `callTool`. Calls run in sequence, and reject for no input of the agent. */
  begin(): RuntimeTurn["callTool"] {
    this.#round += 1;
    const round = this.#round;
    return (toolId, input) => this.#calls.run(() => this.#call(toolId, input, round));
  }

  /** Ends the attempt: waits for the running call and refuses queued ones. */
  async end(): Promise<void> {
    this.#round += 1;
    await this.#calls.settled();
  }

  async #call(toolId: string, written: unknown, round: number): Promise<ToolAnswer> {
    const { maxToolCalls: maxCalls, redactor } = this.#parts;
    if (round !== this.#round || this.#stage.signal.aborted)
      return failed("turn_over", "the turn is over");
    const tool = this.tools.get(toolId);
    if (tool === undefined) return failed("tool_not_allowed", "there is no such tool");
    if (!isRecord(written)) return failed("invalid_arguments", "the arguments must be an object");
    // Redacts before the call, so that endpoints see the same arguments as events.
    const input = redactor.value(written);
    const filled = fillPath(tool.path, new Map(Object.entries(input)));
    if (filled.fault !== undefined) return failed("invalid_arguments", filled.fault);
    if (this.#made >= maxCalls) {
      return failed("tool_limit_exceeded", `a turn may call ${maxCalls} tools`);
    }
    const canonical = canonicalTextOf(input);
    if (canonical === undefined) {
      return failed("invalid_arguments", "the arguments have no canonical form");
    }
    this.#made += 1;
    if (this.#made === 1) await this.#stage.beforeFirst(tool);
    const { agent, turn } = this.#taker;
    const called = { agentId: agent.agentId, toolName: toolId, callId: uuidv7() };
    const asked = { inputs: input, argsHash: hash("sha256", canonical) };
    const { principal } = turn.owner;
    const causationId = await this.#stage.emit({
      type: "agent.toolCalled",
      payload: { ...called, ...asked, principal, transport: "native" },
    });
    const { status, answer, durationMs } = await this.#make(tool, filled.path, input);
    const outcome =
      answer.kind === "returned" ? { outcome: answer.outcome } : { error: answer.error };
    await this.#stage.emit({
      type: "agent.toolReturned",
      payload: { ...called, status, ...outcome, ...given({ durationMs }) },
      causationId,
    });
    return answer;
  }

  async #make(tool: EndpointTool, path: string, input: JsonRecord): Promise<Returned> {
    const { host, takeRate } = this.#parts;
    const { authority, document, turn } = this.#taker;
    const scopes = authority();
    if (typeof scopes === "string") return withoutAuthority(scopes);
    const { signal, surroundings: waitedForBy } = this.#stage;
    const { method, requiredScopes } = tool;
    const grants = compileGrants(scopes);
    const missing = requiredScopes.filter((scope) => !grants.covers(scope));
    if (document === undefined || missing.length > 0) return forbidden(tool);
    const waitMs = takeRate(turn.owner.principal, tool.toolId);
    if (waitMs !== undefined) return rateLimited(tool, waitMs);
    const startedAt = performance.now();
    const asked = { agent: document, scopes, method, path, input, taskId: turn.runId };
    const answered = await raceAbort(host.call({ ...asked, waitedForBy, signal }), signal);
    const durationMs = Math.round(performance.now() - startedAt);
    if (answered === "aborted") {
      const message = "the turn ended before the endpoint answered, what it did is not known";
      return { status: "error", answer: failed("turn_over", message), durationMs };
    }
    const returned = this.#judge(tool, answered);
    return returned.status === "forbidden" ? returned : { ...returned, durationMs };
  }

  /** Redacts the answer, so that the model sees no more than the events have. */
  #judge(tool: EndpointTool, { status, body }: HostedAnswer): Returned {
    const { redactor } = this.#parts;
    // 261 and 262 ask for something first; nothing was done.
    if (status >= 200 && status < 300 && status !== 261 && status !== 262) {
      return { status: "ok", answer: { kind: "returned", outcome: redactor.value(body ?? null) } };
    }
    if (FORBIDDEN.has(status)) return forbidden(tool, status);
    const { code, message } = recordIn(recordIn(body)["error"]);
    const told: RunError = {
      code: textIn(code) || "tool_failed",
      message: redactor.text(textIn(message) || `the endpoint answered ${status}`),
      details: { status },
    };
    const outcome = status === 429 ? "rate_limited" : "error";
    return { status: outcome, answer: { kind: "failed", error: told } };
  }
}

/** Statuses of refusals for missing authority. */
const FORBIDDEN: ReadonlySet<number> = new Set([262, 401, 403, 455, 457]);

function forbidden({ toolId, requiredScopes }: EndpointTool, status?: number): Returned {
  const details = { scope: "tool", toolName: toolId, requiredScopes, ...given({ status }) };
  const message = "the agent and whoever started the run do not both hold what the tool requires";
  return { status: "forbidden", answer: failed("forbidden", message, details) };
}

/** The call was not made: the turn's authority has ended. */
function withoutAuthority(message: string): Returned {
  return { status: "forbidden", answer: failed("agent_unavailable", message) };
}

/** The call was not made: the rate limit is used up. */
function rateLimited({ toolId: toolName }: EndpointTool, retryAfterMs: number): Returned {
  const message = "the tool is called too often for whoever started the run";
  const details = { scope: "tool", toolName, retryAfterMs };
  return { status: "rate_limited", answer: failed("rate_limited", message, details) };
}
