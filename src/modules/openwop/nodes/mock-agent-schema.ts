/** The configuration of a core.conformance.mock-agent; closed.   OpenWOP RFC 0023 §B */
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { closed, TEXT } from "./node-config.ts";

const AGENT_ID = { type: "string", minLength: 3, maxLength: 256 };
const CONFIDENCE = { type: "number", minimum: 0, maximum: 1 };

const REASONING = closed(
  {
    summary: TEXT,
    trace: TEXT,
    tokenCount: { type: "integer", minimum: 0 },
    streamChunks: { type: "array", items: TEXT, maxItems: 1024 },
  },
  ["summary"],
);

/** The envelope that the suite writes, and the shape that events have. */
const ERROR = {
  type: "object",
  properties: { error: TEXT, code: TEXT, message: TEXT, details: { type: "object" } },
  required: ["message"],
};

const TOOL_CALL = {
  ...closed(
    {
      ...{ toolId: { ...TEXT, minLength: 1 }, arguments: {}, result: {}, error: ERROR },
      durationMs: { type: "integer", minimum: 0 },
    },
    ["toolId"],
  ),
  oneOf: [{ required: ["result"] }, { required: ["error"] }],
};

/** The schema of its `config`. */
export const MOCK_AGENT_SCHEMA: JsonSchema = closed({
  agentId: AGENT_ID,
  mockReasoning: { anyOf: [{ type: "boolean" }, REASONING] },
  mockToolCalls: { type: "array", items: TOOL_CALL, maxItems: 64 },
  mockHandoff: closed({ toAgentId: AGENT_ID, reason: TEXT, context: {} }, ["toAgentId"]),
  mockDecision: closed({ decision: {}, confidence: CONFIDENCE, reasoning: TEXT }, ["decision"]),
  mockConfidence: CONFIDENCE,
});
