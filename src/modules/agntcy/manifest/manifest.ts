/**
 * The model of an AGNTCY Agent Manifest: the common content of the three known shapes, named as in the newest.   Agent
 * Manifest "Agent Manifest Structure"
 */

import { type DocumentPlace, documentAt } from "../../../base/document-place.ts";
import { type DocumentStyle, JSON_STYLE } from "../../../base/document-style.ts";
import type { JsonRecord } from "../../../base/json-value.ts";
import type { Problem } from "../../../base/problem.ts";
import type { CompiledSchema } from "../../../schema/schema.ts";

const MANIFEST_SHAPES = ["agent-manifest", "deployment-manifest", "oasf-record"] as const;
export type ManifestShape = (typeof MANIFEST_SHAPES)[number];

/** A valid manifest. */
export interface AgentManifest {
  /** The file name in problems. */
  readonly file: string;
  readonly shape: ManifestShape;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly specs: AcpSpecs;
  /** Empty for a plain ACP descriptor. */
  readonly options: readonly DeploymentOption[];
  readonly environment: readonly EnvironmentVariable[];
  readonly dependencies: readonly Dependency[];
}

/** The ACP capabilities of an agent and its schemas. */
export interface AcpSpecs {
  readonly capabilities: Capabilities;
  readonly input: CompiledSchema;
  readonly output: CompiledSchema;
  readonly config: CompiledSchema;
  readonly customStreamingUpdate?: CompiledSchema;
  readonly threadState?: CompiledSchema;
  /** In manifest order, as the first matching interrupt is taken. */
  readonly interrupts: readonly Interrupt[];
}

/** The schemas of an agent's specs, by their names in manifests. */
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

/** The capabilities of an agent's server; missing ones are false. */
export interface Capabilities {
  readonly threads: boolean;
  readonly interrupts: boolean;
  readonly callbacks: boolean;
  readonly streaming: { readonly values: boolean; readonly custom: boolean };
}

/** A kind of question that interrupts a run. */
export interface Interrupt {
  readonly type: string;
  readonly payload: CompiledSchema;
  readonly resume: CompiledSchema;
  /** True if the agent that began the run is asked; otherwise people are. */
  readonly asksAgent: boolean;
}

export type DeploymentOption =
  | (RemoteService & { readonly type: "remote_service"; readonly name?: string })
  | { readonly type: "source_code"; readonly name?: string }
  | { readonly type: "docker"; readonly name?: string };

/** An agent that already runs as a service. */
export interface RemoteService {
  /** As written; checked when the agent is declared. */
  readonly url: string;
  /** Undefined if the agent is found by name and version. */
  readonly agentId?: string;
  /** An OpenAPI security scheme. */
  readonly authentication?: JsonRecord;
}

/** An environment variable that the agent reads. */
export interface EnvironmentVariable {
  readonly name: string;
  readonly isRequired: boolean;
  readonly defaultValue?: string;
}

/** Another agent that this one requires. */
export interface Dependency {
  /** Its name in this manifest. */
  readonly name: string;
  readonly ref: { readonly name: string; readonly version: string; readonly url?: string };
  readonly option?: string;
  readonly values: EnvironmentValues;
  /** The JSON Pointer of the dependency. */
  readonly pointer: string;
}

/** Variables of an agent and, by name, of its dependencies. */
export interface EnvironmentValues {
  readonly values: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, EnvironmentValues>>;
}

/** The maximum length of a text. */
export const MAX_TEXT_LENGTH = 4096;
/** Bounded, as a hostile manifest may have a hundred thousand faults. */
const MAX_PROBLEMS = 100;

const STYLE: DocumentStyle = {
  ...JSON_STYLE,
  text: `a text of at most ${MAX_TEXT_LENGTH} characters`,
  longestText: MAX_TEXT_LENGTH,
  isNullAbsent: true,
  quotesWords: true,
};

/**
 * The root of a manifest, named `file` in problems. Null counts as absent, as generators write it; unknown members are
 * ignored.
 */
export function manifestRoot(value: unknown, file: string, problems: Problem[]): DocumentPlace {
  return documentAt(value, { file, key: "" }, problems, { style: STYLE, most: MAX_PROBLEMS });
}
