/**
 * core.conformance.mock-agent: emits the agent events that its config scripts, in the order of a real turn, and
 * suspends below the confidence threshold. Only for the public suite.   OpenWOP RFC 0023
 */

import { hash } from "node:crypto";
import { given, isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import { closedObject, type JsonSchema } from "../../../schema/json-schema.ts";
import type { Store } from "../../../state/store.ts";
import { failed } from "../agent-executor.ts";
import type { Verbosity } from "../config.ts";
import type { Run } from "../runs/run.ts";
import { EFFECTS } from "../runs/run-entry.ts";
import { cutReasoning } from "../turn/reasoning.ts";
import { readVerbosity, resolveThreshold } from "../turn/turn-rules.ts";
import { waitFor } from "./core-nodes.ts";
import { type NodeCall, type NodeOutcome, type NodeType, TEXT } from "./node-type.ts";

/**
 * core.conformance.side-effect: has an effect that can be counted outside the run's log, which shows if a replay
 * repeated it.   OpenWOP RFC 0140, "replay" side-effect suppression
 */
export function sideEffectNode(ledger: Pick<EffectLedger, "record">): NodeType {
  return {
    isEffectful: true,
    execute: async ({ run, node, startedSequence }) => {
      const effectId = await ledger.record(run, node.id, startedSequence);
      return { kind: "completed", outputs: { effectId } };
    },
  };
}

/**
 * core.conformance.hold: waits for its input `delayMs` and outputs its inputs. A replay executes it again.   OpenWOP
 * "replay"
 */
export const HOLD: NodeType = {
  isEffectful: false,
  execute: async (call) => {
    const failure = await waitFor(call, call.inputs["delayMs"] ?? 0);
    return failure ?? { kind: "completed", outputs: call.inputs };
  },
};

const CAPABILITY = "conformance.never-provided";

/**
 * conformance.requiresMissing: needs a capability that no host has, and so is refused before any effect.   OpenWOP
 * "capabilities"
 */
export const REQUIRES_MISSING: NodeType = {
  isEffectful: false,
  execute: () => {
    const message = `the node needs the capability ${CAPABILITY}, which this host does not provide`;
    return failed("capability_not_provided", message, { capability: CAPABILITY });
  },
};

/** The mock agent's settings, shared with real agents. */
export interface MockAgentOptions {
  readonly reasoning: { readonly verbosity: Verbosity; readonly tokenLimit: number };
  /** The threshold of an agent's manifest; undefined without one or without such an agent. */
  thresholdOf(agentId: string, tenant: string): number | undefined;
}

/** Returns the node type of the mock agent. */
export function mockAgentNode(options: MockAgentOptions): NodeType {
  const execute = (call: NodeCall): Promise<NodeOutcome> => takeMockTurn(call, options);
  return { isEffectful: true, config: MOCK_AGENT_SCHEMA, execute };
}

async function takeMockTurn(call: NodeCall, options: MockAgentOptions): Promise<NodeOutcome> {
  const { config } = call.node;
  const agentId = agentOf(call);
  await reason(call, agentId, options.reasoning);
  const { mockToolCalls, mockHandoff } = config;
  if (Array.isArray(mockToolCalls)) {
    for (const one of mockToolCalls) await callTool(call, agentId, one);
  }
  if (isRecord(mockHandoff)) {
    const { toAgentId, ...why } = mockHandoff;
    await call.emit({
      type: "agent.handoff",
      payload: { fromAgentId: agentId, toAgentId, ...why },
    });
  }
  const { escalationThreshold } = call.run.configurable;
  const ofManifest = options.thresholdOf(agentId, call.run.owner.tenant);
  return decide(call, agentId, resolveThreshold(escalationThreshold, ofManifest));
}

function agentOf({ node: { id, config, agent } }: NodeCall): string {
  const { agentId } = config;
  return typeof agentId === "string" ? agentId : (agent?.agentId ?? `host:mock-agent:${id}`);
}

async function reason(
  { run, node, emit }: NodeCall,
  agentId: string,
  { verbosity: usual, tokenLimit }: MockAgentOptions["reasoning"],
): Promise<void> {
  const { mockReasoning } = node.config;
  const verbosity = readVerbosity(run.configurable) ?? usual;
  if (mockReasoning === undefined || mockReasoning === false || verbosity === "off") return;
  const said = isRecord(mockReasoning) ? mockReasoning : { summary: "a made-up line of thought" };
  const { summary, trace, streamChunks } = said;
  const chunks = Array.isArray(streamChunks) ? streamChunks.map(String) : [];
  const show = (text: string): string => cutReasoning(text, { verbosity, tokenLimit });
  let whole = "";
  for (const [sequence, chunk] of chunks.entries()) {
    const delta = show(whole + chunk).slice(show(whole).length);
    whole += chunk;
    if (delta === "") break;
    await emit({
      type: "agent.reasoning.delta",
      payload: { agentId, delta, sequence, verbosity },
    });
  }
  const text = verbosity === "full" ? (trace ?? summary) : summary;
  const reasoning = show(chunks.length > 0 ? whole : String(text));
  await emit({ type: "agent.reasoned", payload: { agentId, reasoning, verbosity } });
}

async function callTool({ emit }: NodeCall, agentId: string, one: JsonRecord): Promise<void> {
  const { toolId: toolName, arguments: inputs, result, error, durationMs = 0 } = one;
  const called = { agentId, toolName, callId: uuidv7() };
  const causationId = await emit({
    type: "agent.toolCalled",
    payload: { ...called, ...given({ inputs }) },
  });
  const outcome = isRecord(error)
    ? {
        status: "error",
        error: { ...error, code: error["code"] ?? error["error"] ?? "tool_error" },
      }
    : { status: "ok", outcome: result };
  await emit({
    type: "agent.toolReturned",
    payload: { ...called, ...outcome, durationMs },
    causationId,
  });
}

async function decide(call: NodeCall, agentId: string, threshold: number): Promise<NodeOutcome> {
  const { mockDecision, mockConfidence } = call.node.config;
  const completed: NodeOutcome = { kind: "completed", outputs: {} };
  const said = isRecord(mockDecision)
    ? mockDecision
    : mockConfidence === undefined
      ? undefined
      : { decision: { kind: "made-up" }, confidence: mockConfidence };
  if (said === undefined) return completed;
  await call.emit({ type: "agent.decided", payload: { agentId, ...said } });
  const { confidence: observed, decision } = said;
  if (typeof observed !== "number" || observed >= threshold) return completed;
  return { kind: "low-confidence", agentId, threshold, observed, decision, result: {} };
}

const AGENT_ID = { type: "string", minLength: 3, maxLength: 256 };
const CONFIDENCE = { type: "number", minimum: 0, maximum: 1 };

const REASONING = closedObject(
  {
    summary: TEXT,
    trace: TEXT,
    tokenCount: { type: "integer", minimum: 0 },
    streamChunks: { type: "array", items: TEXT, maxItems: 1024 },
  },
  ["summary"],
);

/** An error in the suite's form or in the events' form. */
const ERROR = {
  type: "object",
  properties: { error: TEXT, code: TEXT, message: TEXT, details: { type: "object" } },
  required: ["message"],
};

const TOOL_CALL = {
  ...closedObject(
    {
      ...{ toolId: { ...TEXT, minLength: 1 }, arguments: {}, result: {}, error: ERROR },
      durationMs: { type: "integer", minimum: 0 },
    },
    ["toolId"],
  ),
  oneOf: [{ required: ["result"] }, { required: ["error"] }],
};

/** The schema of its `config`. */
const MOCK_AGENT_SCHEMA: JsonSchema = closedObject({
  agentId: AGENT_ID,
  mockReasoning: { anyOf: [{ type: "boolean" }, REASONING] },
  mockToolCalls: { type: "array", items: TOOL_CALL, maxItems: 64 },
  mockHandoff: closedObject({ toAgentId: AGENT_ID, reason: TEXT, context: {} }, ["toAgentId"]),
  mockDecision: closedObject({ decision: {}, confidence: CONFIDENCE, reasoning: TEXT }, [
    "decision",
  ]),
  mockConfidence: CONFIDENCE,
});

interface Effect {
  readonly effectId: string;
  readonly nodeId: string;
  /** The sequence at which the execution with this effect began. */
  readonly startedSequence: number;
  readonly at: string;
}

const MOST_EFFECTS = 1000;

/**
 * The effects of the suite's nodes, one row each. They are stored apart from the logs and not folded, so counting them
 * shows that a replay repeats nothing.   OpenWOP RFC 0140
 */
export class EffectLedger {
  readonly #store: Store;
  readonly #now: () => number;

  constructor(store: Store, now: () => number = Date.now) {
    this.#store = store;
    this.#now = now;
  }

  async record(run: Run, nodeId: string, startedSequence: number): Promise<string> {
    const { runId, owner } = run;
    const effectId = idOf([owner.tenant, runId, nodeId, String(startedSequence)]);
    const at = new Date(this.#now()).toISOString();
    const value: Effect = { effectId, nodeId, startedSequence, at };
    const key = `${runId}/${effectId}`;
    await this.#store.commit([{ kind: "put", collection: EFFECTS, key, value }]);
    return effectId;
  }

  async of(runId: string): Promise<readonly JsonRecord[]> {
    const rows = await this.#store.list(EFFECTS, { prefix: `${runId}/`, limit: MOST_EFFECTS });
    return rows.flatMap(({ value }) => (isRecord(value) ? [value] : []));
  }
}

function idOf(parts: readonly string[]): string {
  const text = ["openwop:activity:v2", ...parts, "ledger"].join("\0");
  return hash("sha256", text, "base64url");
}
