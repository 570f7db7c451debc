/** Verdicts on bearer tokens, and who gives them: the seam between the pipeline and the verifier. */

/** What a token is worth. */
export type TokenVerdict =
  | {
      readonly kind: "valid";
      /** The value of the configured claim. */
      readonly principalId: string;
      /** Milliseconds since the epoch. */
      readonly expiresAt: number;
    }
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
