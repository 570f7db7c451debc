/**
 * One entry of a pack's `agents`: a closed object, with the role that newer packs have
 * or without it. An agent in the role of a skill keeps nothing from one task to the next.
 * OpenWOP RFC 0003 §B, RFC 0131 §B
 */
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { MANIFEST_CLASSES } from "../installed-agent.ts";

const SOME_TEXT: JsonSchema = { type: "string", minLength: 1 };
const FLAG: JsonSchema = { type: "boolean" };
const VERSION = "\\d+\\.\\d+\\.\\d+(?:-[0-9A-Za-z.-]+)?(?:\\+[0-9A-Za-z.-]+)?";
const TEMPLATE_ID = "[a-z0-9][a-z0-9._-]{0,127}";
const MAX_ENTRIES = 256;

/** `tier.org.name`, in as many parts as it takes; a `host:` id is never a manifest's. */
const AGENT_ID =
  "^(core|vendor|community|private|local)\\.[a-z][a-z0-9_-]*(\\.[a-z][a-zA-Z0-9_-]*)+$";

const promptReference: JsonSchema = {
  anyOf: [
    { type: "string", pattern: `^prompt:${TEMPLATE_ID}(@${VERSION})?$` },
    {
      type: "object",
      required: ["templateId"],
      properties: {
        libraryId: { type: "string", pattern: `^${TEMPLATE_ID}$` },
        templateId: { type: "string", pattern: `^${TEMPLATE_ID}$` },
        version: { type: "string", pattern: `^${VERSION}$` },
        variableOverrides: { type: "object" },
      },
      additionalProperties: false,
    },
  ],
};

const members: Readonly<Record<string, JsonSchema>> = {
  agentId: { type: "string", pattern: AGENT_ID, minLength: 3, maxLength: 256 },
  persona: { type: "string", minLength: 1, maxLength: 200 },
  modelClass: { enum: MANIFEST_CLASSES },
  systemPrompt: SOME_TEXT,
  systemPromptRef: SOME_TEXT,
  evalSuiteRef: SOME_TEXT,
  toolAllowlist: { type: "array", items: SOME_TEXT, maxItems: MAX_ENTRIES },
  requiresCapabilities: {
    type: "array",
    items: SOME_TEXT,
    uniqueItems: true,
    maxItems: MAX_ENTRIES,
  },
  role: { enum: ["skill", "assistant"] },
  memoryShape: {
    type: "object",
    properties: { scratchpad: FLAG, conversation: FLAG, longTerm: FLAG },
    additionalProperties: false,
  },
  confidence: {
    type: "object",
    properties: { defaultThreshold: { type: "number", minimum: 0, maximum: 1 } },
    additionalProperties: false,
  },
  handoff: {
    type: "object",
    properties: { taskSchemaRef: SOME_TEXT, returnSchemaRef: SOME_TEXT },
    additionalProperties: false,
  },
  label: { type: "string", minLength: 1, maxLength: 100 },
  description: { type: "string", maxLength: 500 },
  promptLibraryRef: { type: "string", pattern: `^${TEMPLATE_ID}$` },
  promptOverrides: {
    type: "object",
    properties: {
      system: promptReference,
      user: promptReference,
      "few-shot": promptReference,
      "schema-hint": promptReference,
    },
    additionalProperties: false,
  },
};

/** One agent's manifest. */
export const AGENT_SCHEMA: JsonSchema = {
  type: "object",
  required: ["agentId", "persona", "modelClass"],
  properties: members,
  additionalProperties: false,
  if: { required: ["role"], properties: { role: { const: "skill" } } },
  // biome-ignore lint/suspicious/noThenProperty: a JSON Schema keyword
  then: {
    required: ["handoff"],
    properties: {
      memoryShape: {
        properties: { conversation: { const: false }, longTerm: { const: false } },
      },
    },
  },
};
