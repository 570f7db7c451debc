/**
 * The AGTP-Signature of a webhook request: `t=SECONDS,v1=HEX`, where HEX is the HMAC-SHA256, under
 * the secret both sides know, of the seconds, a full stop and the body's octets. A receiver that
 * refuses old timestamps cannot be shown a captured request again.   RFC 2104
 */
import { createHmac } from "node:crypto";

/** The text that is signed. */
export interface SignedRequest {
  readonly secret: string;
  /** Seconds since the epoch. */
  readonly timestamp: number;
  readonly body: string;
}

/** The value of the header field. */
export function webhookSignature({ secret, timestamp, body }: SignedRequest): string {
  const mac = createHmac("sha256", secret).update(`${timestamp}.${body}`, "utf8").digest("hex");
  return `t=${timestamp},v1=${mac}`;
}
