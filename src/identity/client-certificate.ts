/**
 * The proof in a peer's certificate, once its chain has been verified: the key it holds, and for an
 * Agent Certificate the agent it belongs to, its owner, and the scopes it is committed to.
 * AGTP-CERT "Agent Certificate Profile"
 */

/** A verified client certificate. */
export interface ClientCertificate {
  /** Lower-case hex without leading zeros. */
  readonly serialNumber: string;
  /** SHA-256 of the DER certificate, lower-case hex. */
  readonly fingerprint: string;
  /** SHA-256 of the raw 32 octets for an Ed25519 key, else of the DER SPKI; lower-case hex. */
  readonly keyFingerprint: string;
  /** SHA-256 of the DER SPKI, whatever the key's algorithm; lower-case hex. */
  readonly spkiFingerprint: string;
  /** Milliseconds since the epoch: when it, or a CA above it, expires and it proves nothing more. */
  readonly notAfter: number;
  /** The AGTP extensions; undefined for a plain client certificate. */
  readonly agent: AgentExtensions | undefined;
}

/** The AGTP extensions of an Agent Certificate, decoded. */
export interface AgentExtensions {
  /** 64 lower-case hex characters. */
  readonly agentId: string;
  readonly ownerId: string | undefined;
  /** Committed scope tokens; undefined when the certificate commits to none in particular. */
  readonly scopes: readonly string[] | undefined;
  readonly governanceZone: string | undefined;
  readonly trustTier: 1 | 2 | 3 | undefined;
  readonly archetype: string | undefined;
}
