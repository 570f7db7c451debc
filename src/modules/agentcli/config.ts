/** `[agentcli]`: workflows whose tasks become endpoints. */
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { Taking } from "../../dispatch/module/shared-sections.ts";
import {
  choice,
  list,
  optional,
  path,
  type Schema,
  table,
  text,
  word,
} from "../../schema/section-field.ts";
import { TRUST_LEVELS, type TrustLevel } from "./manifest/fields.ts";

const trustLevel = (tier: number) =>
  optional(choice("untrusted", TRUST_LEVELS, `agentcli level of callers of tier ${tier}`));

/** `[agentcli]`, with every default filled in. */
export interface AgentcliConfig {
  /** Absolute paths. */
  readonly manifests: readonly string[];
  /** Workflow ids. */
  readonly expose: readonly string[];
  readonly promptRuntime?: string;
  /** Trust levels by trust tier; if empty, a tier implies no level. */
  readonly trustLevels: Readonly<Record<string, TrustLevel>>;
}

export const agentcliSection: Schema = table("agentcli workflows", {
  manifests: list(path("", ""), "Manifest files; loading one exposes nothing"),
  expose: list(text("", ""), "Workflow ids whose shell tasks become endpoints"),
  prompt_runtime: optional(
    word(
      "",
      "^agntcy:/[^\\s]*$",
      'the path of an AGNTCY agent, such as "agntcy:/mailcomposer"',
      'Who answers prompt tasks, such as "agntcy:/mailcomposer"',
    ),
  ),
  trust_levels: table("agentcli level by AGTP trust tier; no default is safe to assume", {
    "1": trustLevel(1),
    "2": trustLevel(2),
    "3": trustLevel(3),
  }),
});

export interface AgentcliSections extends Taking<"limits" | "server"> {
  readonly agentcli: AgentcliConfig;
}

export type AgentcliContext = ModuleContext<AgentcliSections>;
