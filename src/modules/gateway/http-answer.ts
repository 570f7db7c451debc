/**
 * Converts a response of the pipeline to HTTP: the mapped status, the header fields except the connection's, the
 * accepted content type, and the fields that HTTP requires with a status. AGTP "HTTP Gateway", RFC 9110 §11.6.1,
 * §12.5.1, §15.5.6
 */

import { hash } from "node:crypto";
import type { FastifyReply } from "fastify";
import { isRecord, type JsonRecord, parseRecord, recordIn, textIn } from "../../base/json-value.ts";
import { addUnder } from "../../base/listed.ts";
import type { HttpAnswer } from "../../dispatch/module/http-gateway.ts";
import type { Response, WireFaultCode } from "../../wire/message.ts";

/** The parts of the request that the answer depends on. */
export interface Asked {
  readonly method: string;
  readonly accept: string | undefined;
  readonly ifNoneMatch: string | undefined;
  /** The HTTP methods of the path, looked up only if needed. */
  allowed(): readonly string[];
}

/** Fields of the connection, which HTTP manages, and of the framing, which Node writes. */
const DROPPED: ReadonlySet<string> = new Set([
  ...["connection", "content-length", "date", "keep-alive", "proxy-connection", "te", "trailer"],
  ...["transfer-encoding", "upgrade"],
]);

/** Builds the answer; `status` replaces the mapped one. */
export function writeAnswer(
  response: Response,
  asked: Asked,
  { serverId }: { readonly serverId: string },
  status?: number,
): HttpAnswer {
  const refusal = readRefusal(response);
  const fields = new Map<string, string[]>();
  for (const [name, value] of fieldsOf(response)) {
    if (!DROPPED.has(name)) addUnder(fields, name, value);
  }
  const mapped = status ?? httpStatus(response.status, codeOf(refusal));
  fields.set("x-agtp-status", [String(response.status)]);
  fields.set("x-content-type-options", ["nosniff"]);
  const contentType = fields.get("content-type")?.[0];
  if (contentType !== undefined) {
    fields.set("content-type", [acceptedType(contentType, asked.accept)]);
    append(fields, "vary", "Accept");
  }
  if (mapped === 401 && !fields.has("www-authenticate")) {
    fields.set("www-authenticate", [challenge(serverId, codeOf(refusal))]);
  }
  if (mapped === 405) fields.set("allow", [asked.allowed().join(", ")]);
  const wait = refusal?.["retry_after_seconds"];
  if (typeof wait === "number" && !fields.has("retry-after")) {
    fields.set("retry-after", [String(Math.ceil(wait))]);
  }
  const location = locationOf(response.status, refusal);
  if (location !== undefined && !fields.has("location")) fields.set("location", [location]);
  const body = response.status === 204 ? "" : response.body;
  return spareKnown({ status: mapped, fields, body }, fields, asked);
}

function* fieldsOf({ fields, lateFields }: Response): Generator<readonly [string, string]> {
  for (const line of `${fields}${lateFields?.lines ?? ""}`.split("\r\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) yield [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  }
}

/** The body of an answer that is no plain success; bodies of 200, 202 and 204 are not inspected. */
function readRefusal({ status, body }: Response): JsonRecord | undefined {
  if (status === 200 || status === 202 || status === 204 || body.length === 0) return undefined;
  return parseRecord(typeof body === "string" ? body : Buffer.from(body).toString());
}

function codeOf(refusal: JsonRecord | undefined): string | undefined {
  const error = refusal?.["error"];
  const code = recordIn(error)["code"];
  return textIn(code);
}

function append(fields: Map<string, string[]>, name: string, value: string): void {
  const before = fields.get(name);
  fields.set(name, [before === undefined ? value : `${before.join(", ")}, ${value}`]);
}

/** The bearer challenge, because HTTP clients authenticate only by token.   RFC 6750 §3 */
function challenge(serverId: string, code: string | undefined): string {
  const realm = `Bearer realm="${serverId.replace(/["\\]/g, "\\$&")}"`;
  return code === "oauth-invalid" ? `${realm}, error="invalid_token"` : realm;
}

/** The path that calls an approved proposal, if it takes no parameter, or that queries a pending one. */
function locationOf(status: number, body: JsonRecord | undefined): string | undefined {
  const proposalId = body?.["proposal_id"];
  if (status === 261 && typeof proposalId === "string") {
    return `/proposals/${encodeURIComponent(proposalId)}/query`;
  }
  const endpoint = body?.["endpoint"];
  if (status !== 263 || !isRecord(endpoint)) return undefined;
  const { method, path } = endpoint;
  if (typeof method !== "string" || typeof path !== "string" || path.includes("{"))
    return undefined;
  return `${path === "/" ? "" : path}/${method.toLowerCase()}`;
}

/** Adds an entity tag to the answer of a read, and answers 304 if the client has it already. */
function spareKnown(
  answer: HttpAnswer,
  fields: Map<string, string[]>,
  { method, ifNoneMatch }: Asked,
): HttpAnswer {
  const contentType = fields.get("content-type")?.[0];
  const isRead = method === "GET" || method === "HEAD";
  if (!isRead || answer.status !== 200 || contentType === undefined) return answer;
  const tag = fields.get("etag")?.[0] ?? entityTag(answer.body, contentType);
  fields.set("etag", [tag]);
  // The answer to a read may change at any time, and may be for this client alone.
  if (!fields.has("cache-control")) fields.set("cache-control", ["private, no-cache"]);
  if (!isNoneMatch(ifNoneMatch, tag)) return answer;
  fields.delete("content-type");
  return { status: 304, fields, body: "" };
}

const JSON_TYPE = "application/json";
/** Names the charset, because some clients otherwise decode JSON wrongly. */
const JSON_UTF8 = `${JSON_TYPE}; charset=utf-8`;
const AGTP_JSON = /^application\/vnd\.agtp(?:\.[a-z0-9-]+)?\+json$/;
/** Documents that their recipients identify by content type. */
const DOCUMENTS = /^application\/vnd\.agtp\.(?:manifest|identity|endpoint)\+json$/;

/** The content type to send for the pipeline's, by the Accept field. */
export function acceptedType(contentType: string, accept: string | undefined): string {
  const type = mediaType(contentType);
  if (type === JSON_TYPE) return JSON_UTF8;
  if (!type.endsWith("+json")) return contentType;
  const isOwn = AGTP_JSON.test(type) && !DOCUMENTS.test(type);
  const [first, second] = isOwn ? [JSON_TYPE, type] : [type, JSON_TYPE];
  if (accept === undefined) return named(first, contentType);
  const ranges = parseAccept(accept);
  const isSecondBetter = qualityOf(second, ranges) > qualityOf(first, ranges);
  return named(isSecondBetter ? second : first, contentType);
}

function named(type: string, contentType: string): string {
  return type === JSON_TYPE ? JSON_UTF8 : contentType;
}

function mediaType(contentType: string): string {
  const end = contentType.indexOf(";");
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}

interface MediaRange {
  readonly type: string;
  readonly quality: number;
}

/** The most ranges that are read; browsers send seven. */
const MAX_RANGES = 32;

function parseAccept(accept: string): readonly MediaRange[] {
  return accept
    .split(",", MAX_RANGES)
    .map((range) => ({ type: mediaType(range), quality: readQuality(range) }));
}

function readQuality(range: string): number {
  const [, digits] = /;\s*q=([01](?:\.\d{0,3})?)\s*(?:;|$)/i.exec(range) ?? [];
  return digits === undefined ? 1 : Number(digits);
}

/** The most specific range decides. */
function qualityOf(type: string, ranges: readonly MediaRange[]): number {
  const [group = ""] = type.split("/");
  for (const wanted of [type, `${group}/*`, "*/*"]) {
    const range = ranges.find((one) => one.type === wanted);
    if (range !== undefined) return range.quality;
  }
  return 0;
}

/** The entity tag of a body with its content type. */
export function entityTag(body: string | Uint8Array, contentType: string): string {
  const digest = hash("sha256", body, "base64url");
  const type = hash("sha256", contentType, "base64url");
  return `"${digest.slice(0, 27)}.${type.slice(0, 6)}"`;
}

const TAG = /(?:W\/)?("[^"]*")/g;

/** Tells whether an If-None-Match matches the tag, by weak comparison. */
export function isNoneMatch(field: string | undefined, tag: string): boolean {
  if (field === undefined) return false;
  if (field.trim() === "*") return true;
  const own = tag.replace(/^W\//, "");
  for (const [, opaque] of field.matchAll(TAG)) if (opaque === own) return true;
  return false;
}

const MAPPED: ReadonlyMap<number, number> = new Map([
  [261, 202],
  [262, 403],
  [263, 201],
  [455, 403],
  [456, 403],
  [457, 403],
  [458, 409],
  [459, 405],
  [460, 400],
  [461, 409],
  [462, 402],
  [463, 422],
  [464, 404],
  [550, 502],
  [551, 502],
]);

/**
 * Maps an AGTP status to HTTP's: unchanged if HTTP has it, otherwise the nearest. `X-AGTP-Status` carries the
 * original.   AGTP "HTTP Gateway"
 */
export function httpStatus(status: number, code?: string): number {
  if (status === 262 && code === "credentials-missing") return 401;
  return MAPPED.get(status) ?? status;
}

const FAULTS: ReadonlyMap<WireFaultCode, number> = new Map([
  ["request-line-too-long", 414],
  ["header-too-large", 431],
  ["body-too-large", 413],
  ["request-timeout", 408],
]);

/** Maps a malformed request, which is 400 in AGTP, to HTTP's more specific status. */
export function faultStatus(code: WireFaultCode): number {
  return FAULTS.get(code) ?? 400;
}

/** Sends an answer; undefined ends the connection without one. */
export function sendAnswer(reply: FastifyReply, answer: HttpAnswer | undefined): FastifyReply {
  if (answer === undefined) {
    reply.hijack();
    reply.raw.destroy();
    return reply;
  }
  const { status, fields, body } = answer;
  reply.code(status);
  for (const [name, values] of fields) {
    const earlier = name === "vary" ? reply.getHeader(name) : undefined;
    if (typeof earlier === "string") reply.header(name, [earlier, ...values].join(", "));
    else reply.header(name, values.length === 1 ? values[0] : [...values]);
  }
  const isBodiless = status === 204 || status === 304;
  return isBodiless ? reply.send() : reply.send(typeof body === "string" ? body : viewOf(body));
}

/** Views the bytes without a copy, since many answers may share a body. */
function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Sends a refusal of the sidecar itself, in the protocol's form. */
export function sendRefusal(
  reply: FastifyReply,
  status: number,
  body: Readonly<Record<string, unknown>>,
): FastifyReply {
  return reply
    .code(status)
    .header("content-type", "application/json; charset=utf-8")
    .send(JSON.stringify(body));
}

/** The body of a refusal of the sidecar itself. */
export function errorBody(code: string, message: string): Readonly<Record<string, unknown>> {
  return { error: { code, message } };
}
