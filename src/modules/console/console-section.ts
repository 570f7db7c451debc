/** `[console]`: the pages of operators. */
import {
  count,
  flag,
  optional,
  path,
  port,
  type Schema,
  table,
} from "../../schema/section-field.ts";
import { host, webUrl } from "../../schema/section-words.ts";
import { type OidcConfig, oidcSection } from "./oidc-section.ts";

/** `[console]` */
export interface ConsoleConfig {
  readonly enabled: boolean;
  readonly host: string;
  readonly port: number;
  /** Without cert and key, plain HTTP. */
  readonly cert?: string;
  readonly key?: string;
  /** The address that people find it at; `http://localhost:PORT` without this. */
  readonly baseUrl?: string;
  /** Counted from the last use. */
  readonly sessionMinutes: number;
  /** Absent: only links of `agtpd login` sign people in. */
  readonly oidc?: OidcConfig;
}

/** Its schema. */
export const consoleSection: Schema = table("The operator's console", {
  enabled: flag(false, "Whether the console is served"),
  host: host("127.0.0.1", "Address to listen on"),
  port: port(4490, "TCP port to listen on; 0 takes any free one"),
  cert: optional(path("", "Certificate chain in PEM; needed beyond loopback")),
  key: optional(path("", "Private key of the certificate, in PEM")),
  base_url: optional(webUrl("Where people find it, if not at localhost and port")),
  session_minutes: count(480, "How long a session lasts that is not used, in minutes", 44_640),
  oidc: oidcSection,
});
