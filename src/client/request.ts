/**
 * A caller's request, made into a message. Everything that would break the message, or smuggle a
 * second one into it, is refused here, before a byte is sent.   AGTP "Wire Format"
 */
import { uuidv7 } from "../identity/uuid.ts";
import { isFieldName, isFieldValue, isToken } from "../wire/header-fields.ts";
import type { HeaderField } from "../wire/message.ts";
import type { OutgoingRequest } from "../wire/serialize.ts";
import type { ClientRequest, Envelope } from "./agtp-client.ts";
import { AgtpClientError } from "./client-error.ts";

const CONTENT_TYPE = "application/vnd.agtp+json";
/** Visible ASCII; "#" would be a fragment. */
const TARGET = /^[\x21\x22\x24-\x7e]+$/;
/** Written by the serializer, or not part of AGTP. */
const FRAMING_FIELDS: ReadonlySet<string> = new Set(["content-length", "transfer-encoding"]);

/** The methods of the floor that may be sent again.   AGTP "Method Summary" */
const IDEMPOTENT_METHODS: ReadonlySet<string> = new Set([
  "QUERY",
  "DISCOVER",
  "DESCRIBE",
  "INSPECT",
  "SUMMARIZE",
  "PLAN",
  "ESCALATE",
  "CONFIRM",
]);

/** The message to send, or ERR_AGTP_REQUEST. */
export function buildRequest(request: ClientRequest): OutgoingRequest {
  const { method, path = "/", query } = request;
  if (!isToken(method) || method.includes("#")) {
    const expected = method.startsWith("/")
      ? `: the method comes first, as in QUERY ${method}`
      : "";
    throw refused(`method ${JSON.stringify(method)} is not a token${expected}`);
  }
  const target = query === undefined ? path : `${path}?${query}`;
  if (!TARGET.test(target)) {
    throw refused(`path ${JSON.stringify(target)} has characters that must be percent-encoded`);
  }
  const body = buildBody(request);
  return { method, path, query, headers: buildHeaders(request, body), body };
}

/** Tells whether a request may be sent again when its connection closed before any answer. */
export function isRepeatable(request: OutgoingRequest): boolean {
  return (
    IDEMPOTENT_METHODS.has(request.method) ||
    request.headers.some(([name]) => name.toLowerCase() === "idempotency-key")
  );
}

function buildBody(request: ClientRequest): string | Uint8Array {
  const { method, parameters, body, envelope } = request;
  if (body !== undefined) {
    if (parameters === undefined) return body;
    throw refused("expected parameters or a body, got both");
  }
  if (envelope !== undefined && envelope !== false) {
    const { taskId, sessionId, context } = envelope === true ? {} : (envelope satisfies Envelope);
    return JSON.stringify({
      method,
      task_id: taskId,
      session_id: sessionId,
      parameters: parameters ?? {},
      context,
    });
  }
  return parameters === undefined ? "" : JSON.stringify(parameters);
}

function buildHeaders(request: ClientRequest, body: string | Uint8Array): HeaderField[] {
  const given = request.headers ?? [];
  for (const field of given) checkField(field);
  const names = new Set(given.map(([name]) => name.toLowerCase()));
  const headers: HeaderField[] = [];
  const add = (name: string, value: string | undefined): void => {
    if (value === undefined || names.has(name.toLowerCase())) return;
    checkField([name, value]);
    headers.push([name, value]);
  };
  add("Agent-ID", request.agentId);
  add("Owner-ID", request.ownerId);
  add("Authority-Scope", request.scopes?.join(", "));
  if (!names.has("request-id")) headers.push(["Request-ID", uuidv7()]);
  add("Content-Type", body.length === 0 ? undefined : CONTENT_TYPE);
  return [...headers, ...given];
}

function checkField([name, value]: HeaderField): void {
  if (!isFieldName(name)) {
    throw refused(`header field name ${JSON.stringify(name)} is not a token`);
  }
  if (FRAMING_FIELDS.has(name.toLowerCase())) {
    throw refused(`header field ${name} is not the caller's to set`);
  }
  if (!isFieldValue(value)) {
    throw refused(`header field ${name} has a control or non-latin1 character in its value`);
  }
}

function refused(message: string): AgtpClientError {
  return new AgtpClientError("ERR_AGTP_REQUEST", message);
}
