/** A response as the client hands it to a caller: the message, and its body read as JSON. */
import { parseJson } from "../base/json-value.ts";
import type { ReceivedResponse } from "../wire/response-parser.ts";
import type { ClientResponse } from "./agtp-client.ts";

/** Reads the body once, for a caller that would do it anyway. */
export function readResponse(received: ReceivedResponse): ClientResponse {
  const { status, statusText, headers } = received;
  const text = new TextDecoder().decode(received.body);
  return { status, statusText, headers, body: parseJson(text), text, bytes: received.body };
}

/** Tells whether the call did what it was asked to, or is still at it (261).   AGTP "Status Codes" */
export function isAccepted(status: number): boolean {
  return [200, 202, 204, 261, 263].includes(status);
}
