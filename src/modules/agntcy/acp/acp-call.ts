/**
 * One call to an ACP server: bounded in time and size, JSON of bounded depth, no redirect followed,
 * nothing of the caller's identity sent. Every way it can fail is one of the `upstream_*` errors; an
 * answer that says no is handed on with its status.   Agent Connect Protocol, AGTP-API §12.3
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

/** A call that came to nothing. */
export interface AcpFailure {
  readonly kind: "failed";
  readonly error: UpstreamError;
  /** For the caller. */
  readonly message: string;
  /** The status of an answer that says no. */
  readonly status?: number;
  /** For the operator's log. */
  readonly detail?: string;
  /** The hint for the operator; no business of callers. */
  readonly hint?: string;
}

export type AcpAnswer = { readonly kind: "answered"; readonly body: unknown } | AcpFailure;

/** A response whose body is read as it comes. */
export type AcpResponse = Awaited<ReturnType<ReturnType<UpstreamPools["pool"]>["request"]>>;

export interface AcpConnection {
  readonly address: UpstreamAddress;
  /** Credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** PEM text to trust instead of the system's CAs. */
  readonly ca: string | undefined;
  /** The source of the credentials, in words. */
  readonly credentialHint?: string;
  readonly pools: UpstreamPools;
}

export interface AcpRequest {
  readonly method: "GET" | "POST";
  /** Below the server's base path; ids in it are encoded. */
  readonly path: string;
  readonly body?: unknown;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

const MAX_ANSWER_BYTES = 1_048_576;
const MAX_DETAIL_LENGTH = 500;

/** Calls and reads the whole answer; rejects for faults of ours only. */
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

/** Calls and answers with the response as soon as it begins. */
export async function openAcp(
  connection: AcpConnection,
  call: AcpRequest,
): Promise<AcpResponse | AcpFailure> {
  const deadline = new Deadline({ signals: [call.signal], timeoutMs: call.timeoutMs });
  const sending: Sending = { signal: deadline.signal, isSent: false };
  try {
    const response = await send(connection, call, sending);
    // The answer may take as long as the caller likes.
    deadline.stopClock();
    response.body.once("close", () => deadline.clear());
    return response;
  } catch (error) {
    deadline.clear();
    return failureOf(error, sending);
  }
}

/** Tells whether a call came to nothing. */
export function isFailure(answer: { readonly kind: string } | AcpResponse): answer is AcpFailure {
  return "kind" in answer && answer.kind === "failed";
}

interface Sending {
  readonly signal: AbortSignal;
  /** A connection has taken it. */
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
  // A stream that fails after nobody wants it any more must not end the process.
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

/** The caller that is turned away learns which of the operator's words were looked for. */
function withHint(answer: AcpAnswer, { credentialHint: hint }: AcpConnection): AcpAnswer {
  const isLocked = answer.kind === "failed" && answer.error === "upstream_authentication_failed";
  return isLocked && hint !== undefined ? { ...answer, hint } : answer;
}

/** An answer that says no. What it says goes into the log: the caller learns the status. */
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

/** An answer that is not what the protocol says; `text` is what it says instead, for the log. */
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
 * Reads the body of an answer as JSON of bounded depth, without the credentials that its server was
 * shown. An empty one has the value undefined; a fault is said in words that callers may read.
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
  // The parser quotes what it stumbled over, which is nothing for callers.
  const isJson = parsed.fault === undefined || parseJson(shielded) !== undefined;
  return isJson ? parsed : { fault: "is not JSON" };
}

const CONCEALED = "[credential]";
const MIN_LENGTH = 6;
/** `Bearer …`, `Basic …`: the scheme is no secret, what follows is. */
const SCHEME = /^\S+ +/;

/** A text without the credentials. */
export type CredentialShield = (text: string) => string;

/** The shield for the header fields that carry credentials. */
export function shieldCredentials(headers: Readonly<Record<string, string>>): CredentialShield {
  const secrets = Object.values(headers).flatMap((value) => {
    const bare = value.replace(SCHEME, "");
    return [value, bare, ...(/^basic /i.test(value) ? passwordIn(bare) : [])];
  });
  const spellings = secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]);
  const sought = [...new Set(spellings)].filter((one) => one.length >= MIN_LENGTH);
  // The longest first: what is left of it would tell where the shorter one stood.
  sought.sort((left, right) => right.length - left.length);
  return (text) => sought.reduce((rest, secret) => rest.replaceAll(secret, CONCEALED), text);
}

function passwordIn(encoded: string): readonly string[] {
  const pair = Buffer.from(encoded, "base64").toString("utf8");
  return [pair, pair.slice(pair.indexOf(":") + 1)];
}
