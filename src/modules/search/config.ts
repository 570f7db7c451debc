/** What this module takes of the configuration. */
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { Taking } from "../../dispatch/module/shared-sections.ts";

/** The sections that this module takes. */
export type SearchSections = Taking<"agents" | "policies" | "server">;

/** The input of this module. */
export type SearchContext = ModuleContext<SearchSections>;
