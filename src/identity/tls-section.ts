/** `[tls]`: how the server shows itself, and whether agents have to. */
import { choice, optional, path, type Schema, table } from "../schema/section-field.ts";

/** `[tls]` */
export interface TlsConfig {
  /** Absolute paths; both or neither. */
  readonly cert?: string;
  readonly key?: string;
  readonly clientAuth: "none" | "optional" | "required";
  readonly clientCa?: string;
}

/** Its schema. */
export const tlsSection: Schema = table("Transport security; TLS 1.3 only", {
  cert: optional(
    path(
      "",
      "Certificate chain in PEM; without cert and key, one for loopback is made under .agtp/tls",
    ),
  ),
  key: optional(path("", "Private key of the certificate, in PEM")),
  client_auth: choice(
    "none",
    ["none", "optional", "required"],
    "Whether agents are asked for a certificate, and whether they must have one",
  ),
  client_ca: optional(path("", "CAs that agents' certificates are checked against, in PEM")),
});
