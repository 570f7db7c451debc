/** The configuration sections that this module reads. */
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { Taking } from "../../dispatch/module/shared-sections.ts";

export type SearchSections = Taking<"agents" | "policies" | "server">;

export type SearchContext = ModuleContext<SearchSections>;
