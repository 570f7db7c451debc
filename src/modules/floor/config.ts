/** The sections of the configuration that this module takes. */
import type { ConfigPlace } from "../../base/config-place.ts";
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { PoliciesConfig } from "../../dispatch/policy/policies-config.ts";

/** They, and where the configuration lies. */
export interface FloorSections extends ConfigPlace {
  readonly policies: PoliciesConfig;
}

/** The input of this module. */
export type FloorContext = ModuleContext<FloorSections>;
