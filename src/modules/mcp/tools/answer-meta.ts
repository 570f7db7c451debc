/** `_meta` of answers, and the header fields in `_meta` of requests. */
import type { JsonRecord } from "../../../base/json-value.ts";
import type { Answer } from "../ask.ts";

const AUDIT_ID = "io.agtp/audit-id";
const RESPONSE_ID = "io.agtp/response-id";
const SERVER_ID = "io.agtp/server-id";
const RECORD = "io.agtp/attribution-record";
const WANTS_RECORD = "io.agtp/record";

/** Returns the ids of an answer, and on request its record. */
export function answerMeta(
  { response, record }: Answer,
  serverId: string,
  asked: JsonRecord,
): JsonRecord {
  const { responseId } = response;
  return metaMembers({ auditId: record?.auditId, responseId, serverId, jws: record?.jws }, asked);
}

interface AnswerTraces {
  readonly auditId: string | undefined;
  readonly responseId: string | undefined;
  readonly serverId: string | undefined;
  /** The Attribution-Record. */
  readonly jws: string | undefined;
}

/** Builds the members of `_meta` from the ids of an answer. */
export function metaMembers(
  { auditId, responseId, serverId, jws }: AnswerTraces,
  asked: JsonRecord,
): JsonRecord {
  return {
    ...(auditId === undefined ? {} : { [AUDIT_ID]: auditId }),
    ...(responseId === undefined ? {} : { [RESPONSE_ID]: responseId }),
    ...(serverId === undefined ? {} : { [SERVER_ID]: serverId }),
    ...(jws === undefined || asked[WANTS_RECORD] !== true ? {} : { [RECORD]: jws }),
  };
}

/** Members of a request's `_meta` that become AGTP header fields. */
const OWN_FIELDS = {
  "io.agtp/escalation-id": "escalation-id",
  "io.agtp/idempotency-key": "idempotency-key",
  "io.agtp/contract-synthesized": "contract-synthesized",
} as const;
const TRACE_FIELDS = ["traceparent", "tracestate"] as const;

const FIELD = /^[\x21-\x7e](?:[\x20-\x7e]{0,1022}[\x21-\x7e])?$/;

/** Returns the header fields in a request's `_meta`, or a message about an invalid member. */
export function metaFields(meta: JsonRecord): Map<string, string> | string {
  const fields = new Map<string, string>();
  for (const [member, field] of Object.entries(OWN_FIELDS)) {
    const value = meta[member];
    if (value === undefined) continue;
    // Ignoring an invalid idempotency key could make the call run twice.
    if (typeof value !== "string" || !FIELD.test(value)) {
      return `_meta["${member}"] must be at most 1024 visible ASCII characters`;
    }
    fields.set(field, value);
  }
  for (const name of TRACE_FIELDS) {
    const value = meta[name];
    if (typeof value === "string" && FIELD.test(value)) fields.set(name, value);
  }
  return fields;
}
