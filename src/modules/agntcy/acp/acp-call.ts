/**
 * One call to an ACP server: bounded in time, size and JSON depth, without redirects, and without the caller's
 * identity. Every failure is one of the `upstream_*` errors; a refusal keeps its status.   Agent Connect Protocol,
 * AGTP-API §12.3
 */
import { Deadline } from "../../../base/deadline.ts";
import { ANSWER_BOUNDS, jsonExcess } from "../../../base/json-bounds.ts";
import { isRecord, parseJson } from "../../../base/json-value.ts";
import { codeOf, reasonOf } from "../../../base/thrown.ts";
import type { UpstreamError } from "../../../endpoint/endpoint.ts";
import { discardBody, readBoundedBody } from "../../../handlers/connection-options.ts";
import type { UpstreamPools } from "../../../handlers/upstream-pools.ts";
import { upstreamFailure } from "../../../handlers/upstream-response.ts";
import { type JsonDocument, parseBoundedJson } from "../../../identity/json-document.ts";
import type { UpstreamAddress } from "../upstream.ts";

/** A failed call. */
export interface AcpFailure {
  readonly kind: "failed";
  readonly error: UpstreamError;
  /** For the caller. */
  readonly message: string;
  /** The status of a refusal. */
  readonly status?: number;
  /** For the operator's log. */
  readonly detail?: string;
  /** A hint for the operator, not for callers. */
  readonly hint?: string;
}

export type AcpAnswer = { readonly kind: "answered"; readonly body: unknown } | AcpFailure;

/** A response whose body is read incrementally. */
export type AcpResponse = Awaited<ReturnType<ReturnType<UpstreamPools["pool"]>["request"]>>;

export interface AcpConnection {
  readonly address: UpstreamAddress;
  /** Credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** PEM text to trust instead of the system's CAs. */
  readonly ca: string | undefined;
  /** Where the credentials come from, for messages. */
  readonly credentialHint?: string;
  readonly pools: UpstreamPools;
}

export interface AcpRequest {
  readonly method: "GET" | "POST";
  /** Relative to the server's base path, with ids encoded. */
  readonly path: string;
  readonly body?: unknown;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

const MAX_ANSWER_BYTES = 1_048_576;
const MAX_DETAIL_LENGTH = 500;

/** Sends a request and reads the whole answer; rejects only for internal faults. */
export async function callAcp(connection: AcpConnection, call: AcpRequest): Promise<AcpAnswer> {
  const deadline = new Deadline({ signals: [call.signal], timeoutMs: call.timeoutMs });
  const sending: Sending = { signal: deadline.signal, isSent: false };
  try {
    const response = await send(connection, call, sending);
    const answer = await readAnswer(response, shieldCredentials(connection.headers));
    return withHint(answer, connection);
  } catch (error) {
    return failureOf(error, sending);
  } finally {
    deadline.clear();
  }
}

/** Sends a request and returns the response as soon as its head arrives. */
export async function openAcp(
  connection: AcpConnection,
  call: AcpRequest,
): Promise<AcpResponse | AcpFailure> {
  const deadline = new Deadline({ signals: [call.signal], timeoutMs: call.timeoutMs });
  const sending: Sending = { signal: deadline.signal, isSent: false };
  try {
    const response = await send(connection, call, sending);
    // Only the head is bounded in time; the caller bounds the body.
    deadline.stopClock();
    response.body.once("close", () => deadline.clear());
    return response;
  } catch (error) {
    deadline.clear();
    return failureOf(error, sending);
  }
}

/** Tells whether a call failed. */
export function isFailure(answer: { readonly kind: string } | AcpResponse): answer is AcpFailure {
  return "kind" in answer && answer.kind === "failed";
}

interface Sending {
  readonly signal: AbortSignal;
  /** True once a connection has sent the request. */
  isSent: boolean;
}

async function send(
  { address, headers, ca, pools }: AcpConnection,
  { method, path, body, timeoutMs }: AcpRequest,
  sending: Sending,
): Promise<AcpResponse> {
  const response = await pools.pool({ origin: address.origin, ca }).request({
    method,
    path: address.basePath + path,
    headers: {
      accept: "application/json, text/event-stream",
      "accept-encoding": "identity",
      "user-agent": "agtpd",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    body: body === undefined ? null : JSON.stringify(body),
    signal: sending.signal,
    onSent: () => {
      sending.isSent = true;
    },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
  // An abandoned stream that fails must not end the process.
  response.body.on("error", () => {});
  return response;
}

async function readAnswer(response: AcpResponse, shield: CredentialShield): Promise<AcpAnswer> {
  const status = response.statusCode;
  if (status >= 300 && status < 400) {
    discardBody(response);
    const message = "the upstream redirects, which is not followed";
    return { kind: "failed", error: "upstream_error", message, status };
  }
  const encoding = String(response.headers["content-encoding"] ?? "identity").toLowerCase();
  const bytes = encoding === "identity" ? await readBoundedBody(MAX_ANSWER_BYTES, response) : null;
  const isSuccess = status >= 200 && status < 300;
  if (bytes === null) {
    response.body.destroy();
    if (!isSuccess) return refusal(status, undefined);
    return malformed("is compressed, though identity was asked for", status);
  }
  if (bytes === undefined) {
    const message = `the upstream's response is longer than ${MAX_ANSWER_BYTES} bytes`;
    return { kind: "failed", error: "upstream_error", message, status };
  }
  const parsed = parseBody(bytes, shield);
  if (parsed.fault === undefined) {
    return isSuccess ? { kind: "answered", body: parsed.value } : refusal(status, parsed.value);
  }
  const text = shield(bytes.toString("utf8"));
  return isSuccess ? malformed(parsed.fault, status, text) : refusal(status, text);
}

/** Adds to an authentication failure which variables the credentials come from. */
function withHint(answer: AcpAnswer, { credentialHint: hint }: AcpConnection): AcpAnswer {
  const isLocked = answer.kind === "failed" && answer.error === "upstream_authentication_failed";
  return isLocked && hint !== undefined ? { ...answer, hint } : answer;
}

/** A refusal. Its body goes to the log; the caller only learns the status. */
function refusal(status: number, body: unknown): AcpFailure {
  const isUnauthenticated = status === 401 || status === 403;
  const said = isRecord(body) && "detail" in body ? body["detail"] : body;
  const text = typeof said === "string" ? said : (JSON.stringify(said) ?? "");
  return {
    kind: "failed",
    error: isUnauthenticated ? "upstream_authentication_failed" : "upstream_error",
    message: `the upstream answered ${status}`,
    status,
    detail: text.slice(0, MAX_DETAIL_LENGTH),
  };
}

/** An answer that violates the protocol; `text` is the offending text for the log. */
export function malformed(fault: string, status?: number, text?: string): AcpFailure {
  const message = `the upstream's response ${fault}`;
  return {
    ...{ kind: "failed", error: "upstream_malformed_response", message },
    ...(status === undefined ? {} : { status }),
    ...(text === undefined ? {} : { detail: text.slice(0, MAX_DETAIL_LENGTH) }),
  };
}

function failureOf(error: unknown, { signal, isSent }: Sending): AcpFailure {
  const failed = { isAborted: signal.aborted, isSent };
  const { error: name, message = name } = upstreamFailure(error, failed);
  const detail = `${codeOf(error)} ${reasonOf(error)}`.trim().slice(0, MAX_DETAIL_LENGTH);
  return { kind: "failed", error: name as UpstreamError, message, detail };
}

/**
 * Reads the body of an answer as JSON of bounded depth, with the server's credentials removed. An empty body has the
 * value undefined; a fault is worded for callers.
 */
function parseBody(
  bytes: Buffer,
  shield: CredentialShield,
): JsonDocument | { readonly value: undefined; readonly fault?: undefined } {
  if (bytes.length === 0) return { value: undefined };
  const excess = jsonExcess(bytes, ANSWER_BOUNDS);
  if (excess !== undefined) return { fault: excess };
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return { fault: "is not UTF-8 text" };
  }
  const shielded = shield(text);
  const parsed = parseBoundedJson(shielded);
  // The parser quotes the faulty text, which callers must not see.
  const isJson = parsed.fault === undefined || parseJson(shielded) !== undefined;
  return isJson ? parsed : { fault: "is not JSON" };
}

const CONCEALED = "[credential]";
const MIN_LENGTH = 6;
/** In `Bearer …` and `Basic …` only the part after the scheme is secret. */
const SCHEME = /^\S+ +/;

/** Removes credentials from a text. */
export type CredentialShield = (text: string) => string;

/** Creates the shield for header fields with credentials. */
export function shieldCredentials(headers: Readonly<Record<string, string>>): CredentialShield {
  const secrets = Object.values(headers).flatMap((value) => {
    const bare = value.replace(SCHEME, "");
    return [value, bare, ...(/^basic /i.test(value) ? passwordIn(bare) : [])];
  });
  const spellings = secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]);
  const sought = [...new Set(spellings)].filter((one) => one.length >= MIN_LENGTH);
  // Longest first: otherwise the rest of a longer secret would remain.
  sought.sort((left, right) => right.length - left.length);
  return (text) => sought.reduce((rest, secret) => rest.replaceAll(secret, CONCEALED), text);
}

function passwordIn(encoded: string): readonly string[] {
  const pair = Buffer.from(encoded, "base64").toString("utf8");
  return [pair, pair.slice(pair.indexOf(":") + 1)];
}
