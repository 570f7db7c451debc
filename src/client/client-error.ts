/** The only error of the client library, thrown when there is no response. A response of any status is a result. */

/** Callers branch on the code; the message is for people. */
export type AgtpClientErrorCode =
  | "ERR_AGTP_ABORTED"
  | "ERR_AGTP_CLOSED"
  | "ERR_AGTP_CONNECT"
  | "ERR_AGTP_REQUEST"
  | "ERR_AGTP_RESPONSE"
  | "ERR_AGTP_TIMEOUT"
  | "ERR_AGTP_TLS"
  | "ERR_AGTP_URI";

/** Explains why there is no response; `cause` is the platform's error, if there is one. */
export class AgtpClientError extends Error {
  readonly code: AgtpClientErrorCode;

  constructor(code: AgtpClientErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "AgtpClientError";
    this.code = code;
  }
}
