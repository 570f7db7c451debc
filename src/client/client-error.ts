/**
 * The one error of the client library. A response with any status is a result; this is for what
 * kept a response from coming.
 */

/** Callers decide by the code; the message is for people. */
export type AgtpClientErrorCode =
  | "ERR_AGTP_ABORTED"
  | "ERR_AGTP_CLOSED"
  | "ERR_AGTP_CONNECT"
  | "ERR_AGTP_REQUEST"
  | "ERR_AGTP_RESPONSE"
  | "ERR_AGTP_TIMEOUT"
  | "ERR_AGTP_TLS"
  | "ERR_AGTP_URI";

/** Why there is no response; `cause` is what the platform said, where it said something. */
export class AgtpClientError extends Error {
  readonly code: AgtpClientErrorCode;

  constructor(code: AgtpClientErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "AgtpClientError";
    this.code = code;
  }
}
