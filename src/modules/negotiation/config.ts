/** The sections of the configuration that this module takes. */
import type { ConfigPlace } from "../../base/config-place.ts";
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { PoliciesConfig } from "../../dispatch/policy/policies-config.ts";
import type { SynthesisConfig } from "./synthesis-section.ts";

/** They, and where the configuration lies. */
export interface NegotiationSections extends ConfigPlace {
  readonly policies: PoliciesConfig;
  readonly synthesis: SynthesisConfig;
}

/** The input of this module. */
export type NegotiationContext = ModuleContext<NegotiationSections>;
