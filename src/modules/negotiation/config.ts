/** `[synthesis]`: proposed endpoints and their contracts. */
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { Taking } from "../../dispatch/module/shared-sections.ts";
import { flag, type Schema, seconds, table } from "../../schema/section-field.ts";

/** `[synthesis]`, with every default filled in. */
export interface SynthesisConfig {
  readonly asyncEvaluation: boolean;
  readonly sessionTtlSeconds: number;
  readonly persistentDefaultSeconds: number;
  readonly persistentMaxSeconds: number;
}

/** The schema of `[synthesis]`. */
export const synthesisSection: Schema = table("Proposed endpoints and their contracts", {
  async_evaluation: flag(false, "true: PROPOSE answers 261 and is polled"),
  session_ttl_seconds: seconds(86_400, "How long a session's contract lives at most"),
  persistent_default_seconds: seconds(604_800, "How long a persistent contract lives unless asked"),
  persistent_max_seconds: seconds(2_592_000, "How long a persistent contract lives at most"),
});

export interface NegotiationSections extends Taking<"policies"> {
  readonly synthesis: SynthesisConfig;
}

export type NegotiationContext = ModuleContext<NegotiationSections>;
