/**
 * A workflow definition: typed nodes, the edges that order them, and the variables that a run's
 * inputs fill.   OpenWOP "workflow-definition"
 */
import type { JsonRecord } from "../../../base/json-value.ts";

/** The agent that a node is for, as its author wrote it; closed on the wire. */
export interface PinnedAgent {
  readonly agentId: string;
  readonly name?: string;
  readonly modelClass?: string;
  readonly memoryRef?: string;
  readonly version?: string;
  /** A deployment channel, which this server has none of: whoever names one is refused. */
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

/** One step. */
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

/** The condition on a node's output under which an edge leads back from it. */
export interface EdgeCondition {
  readonly type: "equals" | "notEquals" | "contains";
  /** A path of names into the outputs. */
  readonly left: string;
  readonly right?: unknown;
}

/** The order of two nodes; with a condition, one that is done again. */
export interface WorkflowEdge {
  readonly id: string;
  readonly sourceNodeId: string;
  readonly targetNodeId: string;
  readonly condition?: EdgeCondition;
}

/** A value that a run is given, or that a node writes. */
export interface WorkflowVariable {
  readonly name: string;
  readonly type: "string" | "number" | "boolean" | "object" | "array";
  readonly required?: boolean;
  readonly defaultValue?: unknown;
}

/** The members that this server acts on; others are served as they were written. */
export interface WorkflowDefinition {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  /** Only this tenant's. */
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
