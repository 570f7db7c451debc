/** `[console.oidc]`: people who sign in at an OpenID provider. */
import { list, optional, path, type Schema, table, text } from "../../schema/section-field.ts";
import { safeUrl, secret } from "../../schema/section-words.ts";

/** `[console.oidc]` */
export interface OidcConfig {
  readonly issuer: string;
  readonly clientId: string;
  /** Absent for a public client, which PKCE alone protects. */
  readonly clientSecret?: string;
  /** The scopes that the provider is asked for, with spaces between them. */
  readonly scope: string;
  /** The claim that is looked up in the lists; dots lead into objects. */
  readonly roleClaim: string;
  readonly viewers: readonly string[];
  readonly operators: readonly string[];
  /** Path of the certificates to trust instead of the system's. */
  readonly ca?: string;
}

/** Its schema. */
export const oidcSection: Schema = optional(
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
