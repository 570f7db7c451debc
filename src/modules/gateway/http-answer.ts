/**
 * A response of the pipeline as an HTTP client gets it: the mapped status, every field but those that
 * are a connection's own, and what HTTP wants to be said beside a status.
 * AGTP "HTTP Gateway", RFC 9110 §11.6.1, §15.5.6
 */
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import type { HttpAnswer } from "../../dispatch/http-gateway.ts";
import type { Response } from "../../wire/message.ts";
import { acceptedType } from "./accepted-type.ts";
import { entityTag, isNoneMatch } from "./entity-tag.ts";
import { httpStatus } from "./http-status.ts";

/** The parts of the request that the answer depends on. */
export interface Asked {
  readonly method: string;
  readonly accept: string | undefined;
  readonly ifNoneMatch: string | undefined;
  /** The HTTP methods of the path; asked for where they are wanted. */
  allowed(): readonly string[];
}

/** The server's words about itself. */
export interface AnswerStyle {
  readonly serverId: string;
}

/** Fields of the connection, which is HTTP's, and of the framing, which Node writes. */
const DROPPED: ReadonlySet<string> = new Set([
  ...["connection", "content-length", "date", "keep-alive", "proxy-connection", "te", "trailer"],
  ...["transfer-encoding", "upgrade"],
]);

/** Writes the answer; `status` is said instead of the mapped one. */
export function writeAnswer(
  response: Response,
  asked: Asked,
  { serverId }: AnswerStyle,
  status?: number,
): HttpAnswer {
  const refusal = readRefusal(response);
  const fields = new Map<string, string[]>();
  for (const [name, value] of fieldsOf(response)) {
    if (!DROPPED.has(name)) fields.set(name, [...(fields.get(name) ?? []), value]);
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

/** The body of what is no plain success: only there does anything in it matter here. */
function readRefusal({ status, body }: Response): JsonRecord | undefined {
  if (status === 200 || status === 202 || status === 204 || body.length === 0) return undefined;
  try {
    const value: unknown = JSON.parse(
      typeof body === "string" ? body : Buffer.from(body).toString(),
    );
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function codeOf(refusal: JsonRecord | undefined): string | undefined {
  const error = refusal?.["error"];
  const code = isRecord(error) ? error["code"] : undefined;
  return typeof code === "string" ? code : undefined;
}

function append(fields: Map<string, string[]>, name: string, value: string): void {
  const before = fields.get(name);
  fields.set(name, [before === undefined ? value : `${before.join(", ")}, ${value}`]);
}

/** A token is all that an HTTP client can prove itself with.   RFC 6750 §3 */
function challenge(serverId: string, code: string | undefined): string {
  const realm = `Bearer realm="${serverId.replace(/["\\]/g, "\\$&")}"`;
  return code === "oauth-invalid" ? `${realm}, error="invalid_token"` : realm;
}

/**
 * The path by which an approved proposal is called, if that takes no parameter, and the one by
 * which others are asked for.
 */
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

/** A representation that is read has a tag, and whoever has it already gets no second copy. */
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
  // An answer that was read may change any time, and may be for this client alone.
  if (!fields.has("cache-control")) fields.set("cache-control", ["private, no-cache"]);
  if (!isNoneMatch(ifNoneMatch, tag)) return answer;
  fields.delete("content-type");
  return { status: 304, fields, body: "" };
}
