/** `[agentcli]` as the program works with it; the schema of the configuration has checked its form. */
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import { TRUST_LEVELS, type TrustLevel } from "./manifest/identity-fields.ts";

/** The section. */
export interface AgentcliSettings {
  /** Absolute. */
  readonly manifests: readonly string[];
  /** Ids of workflows. */
  readonly expose: readonly string[];
  readonly promptRuntime: string | undefined;
  /** Empty: the tier of a caller says nothing about its level. */
  readonly trustLevels: ReadonlyMap<number, TrustLevel>;
}

/** Reads the section. */
export function readSettings(section: JsonRecord): AgentcliSettings {
  const { manifests, expose, prompt_runtime: runtime, trust_levels: levels } = section;
  return {
    manifests: textsOf(manifests),
    expose: textsOf(expose),
    promptRuntime: typeof runtime === "string" ? runtime : undefined,
    trustLevels: new Map(
      Object.entries(isRecord(levels) ? levels : {}).flatMap(([tier, written]) => {
        const level = TRUST_LEVELS.find((known) => known === written);
        return level === undefined ? [] : [[Number(tier), level] as const];
      }),
    ),
  };
}

/** Of a caller's tier; a tier that is not mapped where others are is not trusted. */
export function trustOf(
  { trustLevels }: AgentcliSettings,
  tier: number | undefined,
): TrustLevel | undefined {
  if (trustLevels.size === 0) return undefined;
  return trustLevels.get(tier ?? 0) ?? "untrusted";
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}
