/**
 * An AGNTCY Agent Manifest as this server works with it: what the three shapes in the wild have in
 * common, under the names of the newest.   Agent Manifest "Agent Manifest Structure"
 */

import { type DocumentPlace, documentAt } from "../../../base/document-place.ts";
import { type DocumentStyle, JSON_STYLE } from "../../../base/document-style.ts";
import type { JsonRecord } from "../../../base/json-value.ts";
import type { Problem } from "../../../base/problem.ts";
import type { CompiledSchema } from "../../../schema/schema.ts";

const MANIFEST_SHAPES = ["agent-manifest", "deployment-manifest", "oasf-record"] as const;
export type ManifestShape = (typeof MANIFEST_SHAPES)[number];

/** A manifest in which nothing is wrong. */
export interface AgentManifest {
  /** As problems name it. */
  readonly file: string;
  readonly shape: ManifestShape;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly specs: AcpSpecs;
  /** Empty for an ACP descriptor alone. */
  readonly options: readonly DeploymentOption[];
  readonly environment: readonly EnvironmentVariable[];
  readonly dependencies: readonly Dependency[];
}

/** The abilities of the agent over ACP, and the schemas in each direction. */
export interface AcpSpecs {
  readonly capabilities: Capabilities;
  readonly input: CompiledSchema;
  readonly output: CompiledSchema;
  readonly config: CompiledSchema;
  readonly customStreamingUpdate?: CompiledSchema;
  readonly threadState?: CompiledSchema;
  /** In the manifest's order, which decides what an interrupt is taken for. */
  readonly interrupts: readonly Interrupt[];
}

/** The schemas of an agent's specs, under the names that manifests have for them. */
export function schemasOf(specs: AcpSpecs): Readonly<Record<string, CompiledSchema["schema"]>> {
  const { input, output, config, threadState, customStreamingUpdate } = specs;
  return {
    ...{ input: input.schema, output: output.schema, config: config.schema },
    ...(threadState === undefined ? {} : { thread_state: threadState.schema }),
    ...(customStreamingUpdate === undefined
      ? {}
      : { custom_streaming_update: customStreamingUpdate.schema }),
  };
}

/** The abilities of an agent's server; one that is not named is not there. */
export interface Capabilities {
  readonly threads: boolean;
  readonly interrupts: boolean;
  readonly callbacks: boolean;
  readonly streaming: { readonly values: boolean; readonly custom: boolean };
}

/** A question that a run may stop for. */
export interface Interrupt {
  readonly type: string;
  readonly payload: CompiledSchema;
  readonly resume: CompiledSchema;
  /** True if it asks the agent that began the run; otherwise it asks people. */
  readonly asksAgent: boolean;
}

export type DeploymentOption =
  | (RemoteService & { readonly type: "remote_service"; readonly name?: string })
  | { readonly type: "source_code"; readonly name?: string }
  | { readonly type: "docker"; readonly name?: string };

/** The place of an agent that is available already. */
export interface RemoteService {
  /** As it is written; what may be called is decided when it is. */
  readonly url: string;
  /** Undefined: the agent is looked for by name and version. */
  readonly agentId?: string;
  /** An OpenAPI security scheme. */
  readonly authentication?: JsonRecord;
}

/** A variable that the agent reads. */
export interface EnvironmentVariable {
  readonly name: string;
  readonly isRequired: boolean;
  readonly defaultValue?: string;
}

/** Another agent that this one needs. */
export interface Dependency {
  /** The name that this manifest has for it. */
  readonly name: string;
  readonly ref: { readonly name: string; readonly version: string; readonly url?: string };
  readonly option?: string;
  readonly values: EnvironmentValues;
  /** The place in the manifest that says so. */
  readonly pointer: string;
}

/** Values of variables for an agent, and for those that it depends on, by their names. */
export interface EnvironmentValues {
  readonly values: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, EnvironmentValues>>;
}

/** The longest text of a manifest. */
export const MAX_TEXT_LENGTH = 4096;
/** A hostile manifest may be wrong in a hundred thousand places. */
const MAX_PROBLEMS = 100;

const STYLE: DocumentStyle = {
  ...JSON_STYLE,
  text: `a text of at most ${MAX_TEXT_LENGTH} characters`,
  longestText: MAX_TEXT_LENGTH,
  isNullAbsent: true,
  quotesWords: true,
};

/**
 * The root of a manifest; problems name it `file`. Null is the same as absent, as generated documents have
 * it; members that nobody knows are left alone.
 */
export function manifestRoot(value: unknown, file: string, problems: Problem[]): DocumentPlace {
  return documentAt(value, { file, key: "" }, problems, { style: STYLE, most: MAX_PROBLEMS });
}
