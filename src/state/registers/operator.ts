/** An operator as decisions and records name it; keys are the wire's own. */

export interface Operator {
  /** The certificate's fingerprint, `link:NAME`, or `ISSUER#SUBJECT`. */
  readonly id: string;
  /** As people call it. */
  readonly name?: string;
  readonly via: "certificate" | "link" | "oidc" | "passkey";
}
