/** The console's sections of the configuration. */
import type { ConfigPlace } from "../../base/deployment-files.ts";
import type { ModuleContext } from "../../dispatch/module/module.ts";
import type { ServerConfig } from "../../identity/identity-sections.ts";
import {
  count,
  flag,
  host,
  list,
  optional,
  path,
  port,
  type Schema,
  safeUrl,
  secret,
  table,
  text,
  webUrl,
} from "../../schema/section-field.ts";

/** The console's sections, and the configuration's place. */
export interface ConsoleSections extends ConfigPlace {
  readonly console: ConsoleConfig;
  readonly server: ServerConfig;
}

export type ConsoleContext = ModuleContext<ConsoleSections>;

/** `[console.oidc]`, with every default filled in. */
export interface OidcConfig {
  readonly issuer: string;
  readonly clientId: string;
  /** Absent for a public client, which PKCE alone protects. */
  readonly clientSecret?: string;
  /** The scopes to request, separated by spaces. */
  readonly scope: string;
  /** The claim to look up in the lists; dots lead into objects. */
  readonly roleClaim: string;
  readonly viewers: readonly string[];
  readonly operators: readonly string[];
  /** Path of the certificates to trust instead of the system's. */
  readonly ca?: string;
}

const oidcSection: Schema = optional(
  table(
    "Signs people in at an OpenID provider; its redirect is base_url and /oidc/callback",
    {
      issuer: optional(safeUrl("The provider, as the iss of its tokens names it")),
      client_id: optional(text("", "The console's name at the provider")),
      client_secret: optional(secret("Its secret; a public client has none")),
      scope: text("openid profile email", "Scopes that the provider is asked for"),
      role_claim: text("groups", "The claim that the lists are about, such as groups or email"),
      viewers: list(text("", ""), "Values of the claim that make a viewer"),
      operators: list(text("", ""), "Values of the claim that make an operator"),
      ca: optional(path("", "CA certificates in PEM to trust there, instead of the system's")),
    },
    ["issuer", "client_id"],
  ),
);

/** `[console]`, with every default filled in. */
export interface ConsoleConfig {
  readonly enabled: boolean;
  readonly host: string;
  readonly port: number;
  /** Without certificate and key the console speaks plain HTTP. */
  readonly cert?: string;
  readonly key?: string;
  /** The public URL; by default `localhost`, or the configured host if that is elsewhere, and the port. */
  readonly baseUrl?: string;
  /** Idle timeout, from the last use of a session. */
  readonly sessionMinutes: number;
  /** Absent: only links of `agtpd login` sign people in. */
  readonly oidc?: OidcConfig;
}

export const consoleSection: Schema = table("The operator's console", {
  enabled: flag(false, "Whether the console is served"),
  host: host("127.0.0.1", "Address to listen on"),
  port: port(4490),
  cert: optional(path("", "Certificate chain in PEM; needed beyond loopback")),
  key: optional(path("", "Private key of the certificate, in PEM")),
  base_url: optional(webUrl("Where people find it, if not at localhost and port")),
  session_minutes: count(480, "How long an unused session lasts, in minutes", 44_640),
  oidc: oidcSection,
});
