/**
 * The `[openwop]` section as this folder works with it: what the configuration's schema has checked,
 * in the program's own names.
 */
import type { OpenwopSections } from "./config.ts";

/** How much of an agent's reasoning is shown. */
export type Verbosity = "summary" | "full" | "off";

/** The runtime of turns. */
export type RuntimeSettings =
  | { readonly kind: "deterministic" }
  | { readonly kind: "function"; readonly function: string }
  | {
      readonly kind: "openai-compatible";
      readonly baseUrl: string;
      readonly apiKey: string | undefined;
      /** File of the authorities to trust instead of the system's. */
      readonly ca: string | undefined;
      /** Model name by model class; `default` for every class that has none. */
      readonly models: ReadonlyMap<string, string>;
      readonly requestTimeoutMs: number;
      readonly retries: number;
    };

/** The section. */
export interface OpenwopSettings {
  readonly packsDir: string;
  readonly satisfied: readonly string[];
  readonly installScope: "host" | "tenant";
  /** The tenant that owns the runs of AGTP callers. */
  readonly tenant: string;
  readonly isConformance: boolean;
  readonly requireSignatures: boolean;
  /** Key file by publicKeyRef. */
  readonly trustedKeys: ReadonlyMap<string, string>;
  /** Scopes granted to tool calls, by agent id. */
  readonly grants: ReadonlyMap<string, readonly string[]>;
  readonly reasoning: {
    readonly verbosity: Verbosity;
    readonly tokenLimit: number;
    readonly isStreaming: boolean;
  };
  readonly runtime: RuntimeSettings;
  readonly turnTimeoutMs: number;
  readonly maxToolCalls: number;
  /** Of one tool, for one principal; 0: no limit. */
  readonly toolCallsPerMinute: number;
}

/** The section as its schema leaves it: every default filled in. */
interface WrittenSection {
  readonly packs_dir: string;
  readonly satisfied: readonly string[];
  readonly install_scope: "host" | "tenant";
  readonly tenant: string;
  readonly conformance: boolean;
  readonly require_signatures: boolean;
  readonly trusted_keys: Readonly<Record<string, string>>;
  readonly agents: Readonly<Record<string, { readonly scopes: readonly string[] }>>;
  readonly reasoning: {
    readonly verbosity: Verbosity;
    readonly token_limit: number;
    readonly streaming: boolean;
  };
  readonly runtime: {
    readonly kind: RuntimeSettings["kind"];
    readonly base_url?: string;
    readonly api_key?: string;
    readonly ca?: string;
    readonly function?: string;
    readonly models: Readonly<Record<string, string>>;
    readonly timeout_seconds: number;
    readonly request_timeout_seconds: number;
    readonly retries: number;
    readonly max_tool_calls: number;
    readonly tool_calls_per_minute: number;
  };
}

/** Reads the section of a configuration that was loaded. */
export function readOpenwopSettings({
  openwop,
}: Pick<OpenwopSections, "openwop">): OpenwopSettings {
  const section = openwop as unknown as WrittenSection;
  const { reasoning, runtime } = section;
  return {
    packsDir: section.packs_dir,
    satisfied: section.satisfied,
    installScope: section.install_scope,
    tenant: section.tenant,
    isConformance: section.conformance,
    requireSignatures: section.require_signatures,
    trustedKeys: new Map(Object.entries(section.trusted_keys)),
    grants: new Map(
      Object.entries(section.agents).map(([agentId, { scopes }]) => [agentId, scopes]),
    ),
    reasoning: {
      verbosity: reasoning.verbosity,
      tokenLimit: reasoning.token_limit,
      isStreaming: reasoning.streaming,
    },
    runtime: readRuntime(runtime),
    turnTimeoutMs: runtime.timeout_seconds * 1000,
    maxToolCalls: runtime.max_tool_calls,
    toolCallsPerMinute: runtime.tool_calls_per_minute,
  };
}

/** That each kind has what it needs is a rule of the configuration. */
function readRuntime(runtime: WrittenSection["runtime"]): RuntimeSettings {
  switch (runtime.kind) {
    case "deterministic":
      return { kind: "deterministic" };
    case "function":
      return { kind: "function", function: runtime.function ?? "" };
    case "openai-compatible":
      return {
        kind: "openai-compatible",
        baseUrl: (runtime.base_url ?? "").replace(/\/+$/, ""),
        apiKey: runtime.api_key,
        ca: runtime.ca,
        models: new Map(Object.entries(runtime.models)),
        requestTimeoutMs: runtime.request_timeout_seconds * 1000,
        retries: runtime.retries,
      };
  }
}
