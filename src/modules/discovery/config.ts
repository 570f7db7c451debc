/** The sections of the configuration that this module takes. */
import type { HostedProtocolEntry } from "../../dispatch/module/listing-sections.ts";
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { Taking } from "../../dispatch/module/shared-sections.ts";

export interface DiscoverySections extends Taking<"agents" | "policies" | "server"> {
  readonly hostedProtocols: readonly HostedProtocolEntry[];
}

export type DiscoveryContext = ModuleContext<DiscoverySections>;
