/**
 * core.conformance.mock-agent: emits the events of an agent as it is told to, in the order of a real
 * turn, and waits for a word where it is not sure. For the public suite alone.   OpenWOP RFC 0023
 */
import type { SchemaCompiler } from "../../../contract/schema.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import { isRecord, type JsonRecord } from "../../../json-value.ts";
import { MOCK_AGENT_SCHEMA } from "./mock-agent-schema.ts";
import type { NodeCall, NodeOutcome, NodeType } from "./node-type.ts";

const DEFAULT_THRESHOLD = 0.7;

/** The node type of the suite's agent. */
export function mockAgentNode(compiler: SchemaCompiler): NodeType {
  const place = { file: "core.conformance.mock-agent", key: "config" };
  const { compiled } = compiler.compile(MOCK_AGENT_SCHEMA, place);
  return {
    isEffectful: true,
    execute,
    checkNode: ({ config }) =>
      (compiled?.check(config) ?? []).map(({ path, message }) => ({
        key: `config${path.replaceAll("/", ".")}`,
        message,
      })),
  };
}

async function execute(call: NodeCall): Promise<NodeOutcome> {
  const { config } = call.node;
  const agentId = agentOf(call);
  if (call.run.configurable["reasoningVerbosity"] !== "off") await reason(call, agentId);
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
  return decide(call, agentId);
}

function agentOf({ node: { id, config, agent } }: NodeCall): string {
  const { agentId } = config;
  return typeof agentId === "string" ? agentId : (agent?.agentId ?? `host:mock-agent:${id}`);
}

async function reason({ node, emit }: NodeCall, agentId: string): Promise<void> {
  const { mockReasoning } = node.config;
  if (mockReasoning === undefined || mockReasoning === false) return;
  const said = isRecord(mockReasoning) ? mockReasoning : { summary: "a made-up line of thought" };
  const { summary, streamChunks } = said;
  const chunks = Array.isArray(streamChunks) ? streamChunks.map(String) : [];
  for (const [sequence, delta] of chunks.entries()) {
    await emit({
      type: "agent.reasoning.delta",
      payload: { agentId, delta, sequence, verbosity: "summary" },
    });
  }
  const reasoning = chunks.length > 0 ? chunks.join("") : String(summary);
  await emit({ type: "agent.reasoned", payload: { agentId, reasoning, verbosity: "summary" } });
}

async function callTool({ emit }: NodeCall, agentId: string, one: JsonRecord): Promise<void> {
  const { toolId: toolName, arguments: inputs, result, error, durationMs = 0 } = one;
  const called = { agentId, toolName, callId: uuidv7() };
  const causationId = await emit({
    type: "agent.toolCalled",
    payload: { ...called, ...(inputs === undefined ? {} : { inputs }) },
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

async function decide(call: NodeCall, agentId: string): Promise<NodeOutcome> {
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
  const threshold = thresholdOf(call.run.configurable);
  if (typeof observed !== "number" || observed >= threshold) return completed;
  return { kind: "low-confidence", agentId, threshold, observed, decision, result: {} };
}

function thresholdOf({ escalationThreshold }: JsonRecord): number {
  return typeof escalationThreshold === "number" ? escalationThreshold : DEFAULT_THRESHOLD;
}
