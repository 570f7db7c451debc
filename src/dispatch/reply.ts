/** The pipeline's reply before it is stamped and encoded: a status, headers and a value. */
import type { Status } from "../wire/message.ts";
import { type Refusal, refusalBody, refusalText } from "./refusals/refusal.ts";

/** Content type of every body that no draft gives a type of its own. */
export const AGTP_JSON = "application/vnd.agtp+json";

/** Tells whether a type is JSON: `application/json`, `text/json`, and every `+json` type, with or without parameters. */
export function isJsonType(contentType: string): boolean {
  // Of every request: the types that are usual are not taken apart.
  if (contentType === AGTP_JSON || contentType === "application/json") return true;
  const end = contentType.indexOf(";");
  const type = (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
  return type.endsWith("/json") || type.endsWith("+json");
}

/** Content type of a 263.   AGTP-API §17.2 */
export const ENDPOINT_JSON = "application/vnd.agtp.endpoint+json";

/** An answer that has no header of the server yet. */
export interface Reply {
  readonly status: Status;
  /** A JSON value; bytes are sent as they are, and so is a text of a type that is not JSON; undefined: no body. */
  readonly body: unknown;
  /** The JSON text of the body, where it is known already. */
  readonly text?: string;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** The refusal this reply was made from. */
  readonly refusal: Refusal | undefined;
}

/** The wire takes the text of a refusal; a handler that dispatched the request is given its body. */
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

/** The reply of a refusal. */
export function replyToRefusal(refusal: Refusal): Reply {
  return new RefusalReply(refusal);
}

/** 202: the same request has another answer once somebody has decided. */
export function replyLater(body: unknown): Reply {
  return { status: 202, body, contentType: AGTP_JSON, headers: undefined, refusal: undefined };
}
