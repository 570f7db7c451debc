/** What the pipeline produces before it is stamped and encoded: a status, headers and a value. */
import type { Status } from "../wire/status.ts";
import { type Refusal, refusalBody } from "./refusal.ts";

/** Content type of every body that no draft gives a type of its own. */
export const AGTP_JSON = "application/vnd.agtp+json";

/** An answer that has no header of the server yet. */
export interface Reply {
  readonly status: Status;
  /** A JSON value; bytes are sent as they are; undefined: no body. */
  readonly body: unknown;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** The refusal this reply was made from. */
  readonly refusal: Refusal | undefined;
}

/** The reply of a refusal. */
export function replyToRefusal(refusal: Refusal): Reply {
  return {
    status: refusal.status,
    body: refusalBody(refusal),
    contentType: AGTP_JSON,
    headers: refusal.headers,
    refusal,
  };
}
