/**
 * The proof in a peer's certificate once its chain is verified: the key it holds, and for an Agent
 * Certificate its agent, the owner, and the scopes it is committed to.
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
  /** SHA-256 of the DER SPKI, for every key type; lower-case hex. */
  readonly spkiFingerprint: string;
  /** Milliseconds since the epoch: the earliest expiry in its chain, after which it proves nothing. */
  readonly notAfter: number;
  /** The AGTP extensions; undefined for a plain client certificate. */
  readonly agent: AgentExtensions | undefined;
}

/** The AGTP extensions of an Agent Certificate, decoded. */
export interface AgentExtensions {
  /** 64 lower-case hex characters. */
  readonly agentId: string;
  readonly ownerId: string | undefined;
  /** Committed scope tokens; undefined if the certificate has no such commitment. */
  readonly scopes: readonly string[] | undefined;
  readonly governanceZone: string | undefined;
  readonly trustTier: 1 | 2 | 3 | undefined;
  readonly archetype: string | undefined;
}
