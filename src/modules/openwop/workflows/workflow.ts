/**
 * A workflow definition: typed nodes, the edges that order them, and the variables that a run's
 * inputs fill.   OpenWOP "workflow-definition"
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import { closedObject, type JsonSchema } from "../../../schema/json-schema.ts";

/** The agent that a node pins, as its author wrote it; a closed object in the protocol. */
export interface PinnedAgent {
  readonly agentId: string;
  readonly name?: string;
  readonly modelClass?: string;
  readonly memoryRef?: string;
  readonly version?: string;
  /** A deployment channel. This server has none, so pins of one are refused. */
  readonly channel?: string;
  readonly sourceManifestId?: string;
}

/** The source of a node's input. */
export type PortValue =
  | { readonly type: "static"; readonly value: unknown }
  | {
      readonly type: "connection";
      readonly nodeId: string;
      readonly outputKey: string;
      readonly optional?: boolean;
    }
  | { readonly type: "variable"; readonly variableName: string; readonly optional?: boolean };

export interface WorkflowNode {
  readonly id: string;
  readonly typeId: string;
  readonly name: string;
  readonly position: { readonly x: number; readonly y: number };
  readonly config: JsonRecord;
  readonly inputs: Readonly<Record<string, PortValue>>;
  readonly agent?: PinnedAgent;
  readonly artifactType?: string;
  readonly disabled?: boolean;
}

/** The condition on a node's outputs that takes a loop edge. */
export interface EdgeCondition {
  readonly type: "equals" | "notEquals" | "contains";
  /** A path of names in the outputs. */
  readonly left: string;
  readonly right?: unknown;
}

/** An edge that orders two nodes; with a condition, a loop edge. */
export interface WorkflowEdge {
  readonly id: string;
  readonly sourceNodeId: string;
  readonly targetNodeId: string;
  readonly condition?: EdgeCondition;
}

/** A variable of a run, set by its inputs or by nodes. */
export interface WorkflowVariable {
  readonly name: string;
  readonly type: "string" | "number" | "boolean" | "object" | "array";
  readonly required?: boolean;
  readonly defaultValue?: unknown;
}

/** The members that this server uses; others are passed through unchanged. */
export interface WorkflowDefinition {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  /** The tenant that may use it; undefined for all. */
  readonly tenantId?: string;
  readonly isActive?: boolean;
  readonly status?: "active" | "inactive" | "draft" | "archived";
  readonly nodes: readonly WorkflowNode[];
  readonly edges: readonly WorkflowEdge[];
  readonly variables: readonly WorkflowVariable[];
  readonly configurableSchema?: JsonRecord;
  readonly metadata: JsonRecord;
  readonly settings: JsonRecord;
}

/** A name or id. */
export const NAME = { type: "string", minLength: 1, maxLength: 256 } as const;
const TEXT = { type: "string", minLength: 1, maxLength: 4096 };
const FLAG = { type: "boolean" };
const OPEN = { type: "object" };
/** Node ids become parts of keys and paths. */
const NODE_ID = { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$" };
const ANY = {};

const AGENT_REF = {
  ...closedObject(
    {
      agentId: { type: "string", minLength: 3, maxLength: 256 },
      name: { type: "string", maxLength: 256 },
      modelClass: {
        enum: [
          ...["reasoning", "tool-using", "chat", "code", "vision", "multimodal", "embedding"],
          ...["classification", "retrieval"],
        ],
      },
      memoryRef: NAME,
      version: { type: "string", maxLength: 64 },
      channel: { type: "string", minLength: 1, maxLength: 64 },
      sourceManifestId: { type: "string", maxLength: 256 },
    },
    ["agentId"],
  ),
  // RFC 0082 §A: either an exact version, or a channel to resolve one from.
  not: { required: ["version", "channel"] },
};

const PORT_VALUE = {
  oneOf: [
    closedObject({ type: { const: "static" }, value: ANY }, ["type", "value"]),
    closedObject(
      { type: { const: "connection" }, nodeId: NODE_ID, outputKey: NAME, optional: FLAG },
      ["type", "nodeId", "outputKey"],
    ),
    closedObject({ type: { const: "variable" }, variableName: NAME, optional: FLAG }, [
      "type",
      "variableName",
    ]),
  ],
};

const POSITION = {
  type: "object",
  required: ["x", "y"],
  properties: { x: { type: "number" }, y: { type: "number" } },
};

const NODE = closedObject(
  {
    id: NODE_ID,
    typeId: { type: "string", pattern: "^[a-z][a-zA-Z0-9._-]{0,255}$" },
    name: NAME,
    position: POSITION,
    config: OPEN,
    inputs: {
      type: "object",
      propertyNames: { maxLength: 256 },
      maxProperties: 64,
      additionalProperties: PORT_VALUE,
    },
    settings: OPEN,
    outputRole: { enum: ["primary", "secondary"] },
    disabled: FLAG,
    notes: { type: "string", maxLength: 4096 },
    groupId: NAME,
    agent: AGENT_REF,
    artifactType: NAME,
    cardType: NAME,
  },
  ["id", "typeId", "name", "position", "config", "inputs"],
);

const CONDITION = closedObject(
  {
    type: { enum: ["equals", "notEquals", "contains"] },
    left: { type: "string", minLength: 1, maxLength: 1024 },
    right: ANY,
  },
  ["type", "left", "right"],
);

const EDGE = closedObject(
  {
    id: NAME,
    sourceNodeId: NODE_ID,
    sourceOutput: NAME,
    targetNodeId: NODE_ID,
    targetInput: NAME,
    label: { type: "string", maxLength: 256 },
    triggerRule: { const: "all_success" },
    condition: CONDITION,
  },
  ["id", "sourceNodeId", "targetNodeId"],
);

const TRIGGER = closedObject(
  {
    id: NAME,
    type: { const: "manual" },
    name: NAME,
    description: TEXT,
    config: OPEN,
    enabled: FLAG,
    nodeId: NODE_ID,
  },
  ["id", "type"],
);

const VARIABLE = closedObject(
  {
    name: NAME,
    type: { enum: ["string", "number", "boolean", "object", "array"] },
    description: { type: "string", maxLength: 4096 },
    // A hint for forms: any word is accepted, and values are not validated against it.
    format: TEXT,
    required: FLAG,
    defaultValue: ANY,
    // A value that may not be stored would be missing after a restart.
    sensitive: { const: false },
  },
  ["name", "type"],
);

export const WORKFLOW_SCHEMA: JsonSchema = closedObject(
  {
    id: { type: "string", pattern: "^[a-z][a-z0-9_-]{0,127}$" },
    name: NAME,
    description: { type: "string", maxLength: 16_384 },
    version: NAME,
    type: NAME,
    isActive: FLAG,
    status: { enum: ["active", "inactive", "draft", "archived"] },
    tenantId: NAME,
    scopeId: NAME,
    slug: { type: "string", pattern: "^[a-z0-9][a-z0-9_-]*$", maxLength: 128 },
    nodes: { type: "array", items: NODE, minItems: 1, maxItems: 256 },
    edges: { type: "array", items: EDGE, maxItems: 1024 },
    triggers: { type: "array", items: TRIGGER, maxItems: 64 },
    variables: { type: "array", items: VARIABLE, maxItems: 256 },
    groups: { type: "array", items: OPEN, maxItems: 256 },
    configurableSchema: OPEN,
    metadata: OPEN,
    settings: {
      type: "object",
      properties: {
        timeout: { type: "integer", minimum: 0 },
        maxRetries: { type: "integer", minimum: 0 },
        logLevel: { enum: ["debug", "info", "warn", "error"] },
        maxLoopbackIterations: { type: "integer", minimum: 1 },
      },
    },
    createdAt: TEXT,
    updatedAt: TEXT,
  },
  ["id", "name", "version", "nodes", "edges", "triggers", "variables", "metadata", "settings"],
);
