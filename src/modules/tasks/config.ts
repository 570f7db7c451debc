/** The sections of the configuration that this module takes. */
import type { ConfigPlace } from "../../base/config-place.ts";
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { PoliciesConfig } from "../../dispatch/policy/policies-config.ts";
import type { ServerConfig } from "../../identity/server-section.ts";

/** They, and where the configuration lies. */
export interface TasksSections extends ConfigPlace {
  readonly policies: PoliciesConfig;
  readonly server: ServerConfig;
  readonly webhooks: { readonly escalations?: string };
}

/** The input of this module. */
export type TasksContext = ModuleContext<TasksSections>;
