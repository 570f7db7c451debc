/** `[gateway]`: the HTTP sidecar. */
import type { ApiEntry } from "../../dispatch/module/listing-sections.ts";
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { Taking } from "../../dispatch/module/shared-sections.ts";
import {
  flag,
  host,
  list,
  optional,
  origin,
  path,
  port,
  type Schema,
  table,
  text,
  webUrl,
} from "../../schema/section-field.ts";

/** `[gateway]`, with every default filled in. */
export interface GatewayConfig {
  readonly enabled: boolean;
  readonly host: string;
  readonly port: number;
  readonly agent?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly allowPlainHttp: boolean;
  readonly baseUrl?: string;
  readonly corsOrigins: readonly string[];
  readonly hosts: readonly string[];
}

export const gatewaySection: Schema = table("The HTTP sidecar", {
  enabled: flag(false, "Whether HTTP clients are served as well"),
  host: host("127.0.0.1", "Address to listen on"),
  port: port(8080),
  agent: optional(text("", "Name of the agent it speaks as; without it, one the server issues")),
  cert: optional(path("", "Certificate chain in PEM; without cert and key, plain HTTP")),
  key: optional(path("", "Private key of the certificate, in PEM")),
  allow_plain_http: flag(false, "Whether plain HTTP may leave this machine, to a proxy with TLS"),
  base_url: optional(webUrl("Where clients find it, if not at host and port")),
  cors_origins: list(origin(""), "Origins whose pages may call it; without any, no page may"),
  hosts: list(
    host("", ""),
    "Names it is called by beside its base_url; on loopback no other site's, elsewhere any unless given",
  ),
});

export interface GatewaySections extends Taking<"limits" | "policies" | "server"> {
  readonly apis: readonly ApiEntry[];
  readonly gateway: GatewayConfig;
}

export type GatewayContext = ModuleContext<GatewaySections>;
