/**
 * Names the `upstream_*` error of an upstream call that failed. The system's own words about it are
 * for the log.   AGTP-API §12.3, Table 8
 */
import { codeOf } from "../base/thrown.ts";
import type { HandlerError } from "./handler.ts";

const TIMEOUT_CODES: ReadonlySet<string> = new Set([
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
]);

/** The error a thrown failure stands for; what is a fault of ours is thrown again. */
export function upstreamFailure(error: unknown, isAborted: boolean): HandlerError {
  const code = codeOf(error);
  // When the caller left, nobody reads the answer; it only has to be one.
  if (isAborted || TIMEOUT_CODES.has(code)) {
    return { error: "upstream_timeout", message: "the upstream did not answer in time" };
  }
  // A request undici will not send is a fault of ours, not of the upstream.
  if (code === "UND_ERR_INVALID_ARG") throw error;
  if (code.startsWith("HPE_")) {
    const message = "the upstream's response is not HTTP";
    return { error: "upstream_malformed_response", message };
  }
  return { error: "upstream_connection_error", message: "the upstream cannot be reached" };
}
