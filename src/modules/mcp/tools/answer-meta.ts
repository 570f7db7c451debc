/** `_meta` of answers, and what that of a request asks for. */
import type { JsonRecord } from "../../../base/json-value.ts";
import type { Answer } from "../ask.ts";

const AUDIT_ID = "io.agtp/audit-id";
const RESPONSE_ID = "io.agtp/response-id";
const SERVER_ID = "io.agtp/server-id";
const RECORD = "io.agtp/attribution-record";
const WANTS_RECORD = "io.agtp/record";

/** Where an answer is found again, and on demand the record of it. */
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

/** The members of `_meta` for the traces of an answer. */
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

/** The members of a request's `_meta` that are header fields of AGTP. */
const OWN_FIELDS = {
  "io.agtp/escalation-id": "escalation-id",
  "io.agtp/idempotency-key": "idempotency-key",
  "io.agtp/contract-synthesized": "contract-synthesized",
} as const;
const TRACE_FIELDS = ["traceparent", "tracestate"] as const;

const FIELD = /^[\x21-\x7e](?:[\x20-\x7e]{0,1022}[\x21-\x7e])?$/;

/** The header fields that a request's `_meta` stands for; a text says why a member cannot be one. */
export function metaFields(meta: JsonRecord): Map<string, string> | string {
  const fields = new Map<string, string>();
  for (const [member, field] of Object.entries(OWN_FIELDS)) {
    const value = meta[member];
    if (value === undefined) continue;
    // A call whose key is passed over would be done twice.
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
