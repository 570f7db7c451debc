/** A response as the client hands it to a caller: the message, and its body read as JSON. */
import type { ReceivedResponse } from "../wire/response-parser.ts";
import type { ClientResponse } from "./agtp-client.ts";

/** Reads the body once, for a caller that would do it anyway. */
export function readResponse(received: ReceivedResponse): ClientResponse {
  const { status, statusText, headers } = received;
  const text = new TextDecoder().decode(received.body);
  return { status, statusText, headers, body: readJson(text), text, bytes: received.body };
}

/** Tells whether the call did what it was asked to, or is still at it (261).   AGTP "Status Codes" */
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
