/**
 * The body that asks for a run, and what a fork may change of it; closed.   OpenWOP "run-options"
 */
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { MIN_DURATION_MS } from "./run-limits.ts";

const NAME = { type: "string", minLength: 1, maxLength: 256 };
const COUNT = { type: "integer", minimum: 1 };

/** Keys that nobody knows pass through. */
const CONFIGURABLE = {
  type: "object",
  maxProperties: 128,
  properties: {
    recursionLimit: COUNT,
    model: NAME,
    temperature: { type: "number", minimum: 0, maximum: 2 },
    maxTokens: COUNT,
    promptOverrides: { type: "object", additionalProperties: { type: "string" } },
    escalationThreshold: { type: "number", minimum: 0, maximum: 1 },
    reasoningVerbosity: { enum: ["summary", "full", "off"] },
    runTimeoutMs: { type: "integer", minimum: MIN_DURATION_MS },
    maxLoopIterations: COUNT,
  },
};

/** The options that the protocol knows. */
export const RESERVED_OPTIONS: ReadonlySet<string> = new Set(Object.keys(CONFIGURABLE.properties));

const OPTIONS = {
  configurable: CONFIGURABLE,
  tags: { type: "array", items: NAME, maxItems: 100 },
  metadata: { type: "object", maxProperties: 128 },
};

/** The body of a request for a run, over AGTP and HTTP. */
export const RUN_PARAMETERS: Readonly<Record<string, JsonSchema>> = {
  workflowId: NAME,
  agentId: NAME,
  inputs: { type: "object", maxProperties: 1024 },
  tenantId: NAME,
  scopeId: NAME,
  ...OPTIONS,
};

/** The body of POST /v1/runs. */
export const RUN_BODY_SCHEMA: JsonSchema = {
  type: "object",
  additionalProperties: false,
  properties: RUN_PARAMETERS,
};

/** The members that a branch may change. */
export const OVERLAY_SCHEMA: JsonSchema = {
  type: "object",
  additionalProperties: false,
  properties: OPTIONS,
};
