/** The pipeline's reply before it is stamped and encoded: status, headers and a value. */
import type { Status } from "../wire/message.ts";
import { type Refusal, refusalBody, refusalText } from "./refusals/refusal.ts";

/** The content type of bodies for which no draft defines one. */
export const AGTP_JSON = "application/vnd.agtp+json";

/**
 * Tells whether a content type is JSON: `application/json`, `text/json` or any `+json`, with or
 * without parameters.
 */
export function isJsonType(contentType: string): boolean {
  // A fast path for the usual types, since every request passes here.
  if (contentType === AGTP_JSON || contentType === "application/json") return true;
  const end = contentType.indexOf(";");
  const type = (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
  return type.endsWith("/json") || type.endsWith("+json");
}

/** The content type of a 263.   AGTP-API §17.2 */
export const ENDPOINT_JSON = "application/vnd.agtp.endpoint+json";

/** An answer without the server's own header fields. */
export interface Reply {
  readonly status: Status;
  /**
   * A JSON value. Bytes are sent as they are, and so is a text whose type is not JSON; undefined
   * for no body.
   */
  readonly body: unknown;
  /** The JSON text of the body, if it is already encoded. */
  readonly text?: string;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** The refusal that this reply was made from. */
  readonly refusal: Refusal | undefined;
}

/** The reply of a refusal: the wire uses its text, and a dispatching handler gets its body. */
class RefusalReply implements Reply {
  readonly status: Status;
  readonly contentType: string = AGTP_JSON;
  readonly headers: Reply["headers"];
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    this.status = refusal.status;
    this.headers = refusal.headers;
    this.refusal = refusal;
  }

  get body(): unknown {
    return refusalBody(this.refusal);
  }

  get text(): string {
    return refusalText(this.refusal);
  }
}

/** Returns the reply of a refusal. */
export function replyToRefusal(refusal: Refusal): Reply {
  return new RefusalReply(refusal);
}

/** Replies 202: the same request gets another answer once somebody has decided. */
export function replyLater(body: unknown): Reply {
  return { status: 202, body, contentType: AGTP_JSON, headers: undefined, refusal: undefined };
}
