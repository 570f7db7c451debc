/** What this module takes of the configuration. */
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { Taking } from "../../dispatch/module/shared-sections.ts";

/** The sections that this module takes. */
export interface TasksSections extends Taking<"policies" | "server"> {
  readonly webhooks: { readonly escalations?: string };
}

/** The input of this module. */
export type TasksContext = ModuleContext<TasksSections>;
