/** `[openwop]` as this folder works with it: maps by name, times in milliseconds. */
import type { OpenwopRuntimeConfig, OpenwopSections, Verbosity } from "./config.ts";

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

/** Reads the section of a configuration that was loaded. */
export function readOpenwopSettings({
  openwop,
}: Pick<OpenwopSections, "openwop">): OpenwopSettings {
  const { packsDir, satisfied, installScope, tenant, requireSignatures } = openwop;
  const { reasoning, runtime } = openwop;
  return {
    ...{ packsDir, satisfied, installScope, tenant, requireSignatures },
    isConformance: openwop.conformance,
    trustedKeys: new Map(Object.entries(openwop.trustedKeys)),
    grants: new Map(
      Object.entries(openwop.agents).map(([agentId, { scopes }]) => [agentId, scopes]),
    ),
    reasoning: {
      verbosity: reasoning.verbosity,
      tokenLimit: reasoning.tokenLimit,
      isStreaming: reasoning.streaming,
    },
    runtime: readRuntime(runtime),
    turnTimeoutMs: runtime.timeoutSeconds * 1000,
    maxToolCalls: runtime.maxToolCalls,
    toolCallsPerMinute: runtime.toolCallsPerMinute,
  };
}

function readRuntime(runtime: OpenwopRuntimeConfig): RuntimeSettings {
  switch (runtime.kind) {
    case "deterministic":
      return { kind: "deterministic" };
    case "function":
      return { kind: "function", function: runtime.function ?? "" };
    case "openai-compatible":
      return {
        kind: "openai-compatible",
        baseUrl: (runtime.baseUrl ?? "").replace(/\/+$/, ""),
        apiKey: runtime.apiKey,
        ca: runtime.ca,
        models: new Map(Object.entries(runtime.models)),
        requestTimeoutMs: runtime.requestTimeoutSeconds * 1000,
        retries: runtime.retries,
      };
  }
}
