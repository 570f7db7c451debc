/** Verdicts on bearer tokens, and who gives them: the seam between the pipeline and the verifier. */

/** The claims of a token that holds. */
export interface TokenClaims {
  /** The value of the configured claim. */
  readonly principalId: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** For whom it was issued; undefined: it does not say. */
  readonly audiences?: readonly string[];
  /** The Agent-ID of `agent_claim`. */
  readonly agentId?: string;
  /** The token's scopes that this protocol has a form for; undefined: it narrows nothing. */
  readonly scopes?: readonly string[];
}

/** The verdict on a token. */
export type TokenVerdict =
  | ({ readonly kind: "valid" } & TokenClaims)
  | {
      readonly kind: "invalid";
      /** For the log and for the caller; it quotes nothing of the token. */
      readonly reason: string;
    };

/** Gives verdicts on whole Authorization header values. */
export interface TokenVerifier {
  /** A verdict that needs no waiting: one that is remembered and still holds. */
  recall(authorization: string): TokenVerdict | undefined;
  /** Never rejects: what cannot be verified is invalid. */
  verify(authorization: string): Promise<TokenVerdict>;
  close(): Promise<void>;
}
