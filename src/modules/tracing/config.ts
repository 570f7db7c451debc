/** The sections of the configuration that this module takes. */
import type { ConfigPlace } from "../../base/config-place.ts";
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { ServerConfig } from "../../identity/server-section.ts";
import type { LimitsConfig } from "../../wire/limits-section.ts";
import type { TracingConfig } from "./tracing-section.ts";

/** They, and where the configuration lies. */
export interface TracingSections extends ConfigPlace {
  readonly tracing: TracingConfig;
  readonly server: ServerConfig;
  readonly limits: LimitsConfig;
}

/** The input of this module. */
export type TracingContext = ModuleContext<TracingSections>;
