/** The sections of the configuration that this module takes. */
import type { ConfigPlace } from "../../base/deployment-files.ts";
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { ServerConfig } from "../../identity/identity-sections.ts";
import type { ConsoleConfig } from "./console-section.ts";

/** They, and where the configuration lies. */
export interface ConsoleSections extends ConfigPlace {
  readonly console: ConsoleConfig;
  readonly server: ServerConfig;
}

/** The input of this module. */
export type ConsoleContext = ModuleContext<ConsoleSections>;
