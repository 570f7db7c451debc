/** A response as the client hands it to a caller: the message, and its body read as JSON. */
import type { HeaderFields } from "../wire/message.ts";
import type { ReceivedResponse } from "../wire/response-parser.ts";

/** Any status is a result: 262 is a refusal and 261 is pending, so ranges mean nothing. */
export interface ClientResponse {
  readonly status: number;
  /** Informational: nothing may be decided by it. */
  readonly statusText: string;
  readonly headers: HeaderFields;
  /** The body when it is JSON; undefined when it is not, or empty. */
  readonly body: unknown;
  /** The body as UTF-8. */
  readonly text: string;
}

/** Reads the body once, for a caller that would do it anyway. */
export function readResponse(received: ReceivedResponse): ClientResponse {
  const { status, statusText, headers } = received;
  const text = new TextDecoder().decode(received.body);
  return { status, statusText, headers, body: readJson(text), text };
}

/** Whether the call did what it was asked to, or is still at it (261).   AGTP "Status Codes" */
export function isAccepted(status: number): boolean {
  return [200, 202, 204, 261, 263].includes(status);
}

function readJson(text: string): unknown {
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
