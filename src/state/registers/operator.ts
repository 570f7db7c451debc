/** An operator, as named in decisions and records; keys are the wire's own. */

export interface Operator {
  /** The certificate's fingerprint, `link:NAME`, or `ISSUER#SUBJECT`. */
  readonly id: string;
  /** The display name. */
  readonly name?: string;
  readonly via: "certificate" | "link" | "oidc" | "passkey";
}
