/**
 * From what a handler returned to the reply: a body that the output schema accepts, an error that the
 * endpoint declares, or a fault. The operator's handlers may neither refuse for the protocol nor write its header
 * fields.   AGTP-API §6.4 "errors", §13.3
 */
import { AwaitedAnswer } from "../../handlers/call-upstream.ts";
import type { HandlerResult } from "../../handlers/handler.ts";
import { isFieldName, isFieldValue } from "../../wire/header-fields.ts";
import { isStatus, isSuccess, type Status } from "../../wire/status.ts";
import { concealRefusal } from "../concealment.ts";
import { namedError } from "../refusals/refusal.ts";
import { AGTP_JSON, type Reply, replyLater, replyToRefusal } from "../reply.ts";
import type { Outcome, Route } from "../routes/route.ts";

/** The part of a route that an outcome is judged by. */
export type OutcomeRules = Pick<Route, "tier" | "errors" | "output" | "concealment">;

/** The reply an outcome stands for, or what is wrong with it. */
export function replyToOutcome(route: OutcomeRules, outcome: Outcome): Reply | string {
  if (typeof outcome !== "object" || outcome === null) return "the handler returned nothing";
  if (outcome instanceof AwaitedAnswer) return replyLater(outcome.body);
  if (route.tier !== "B" && "kind" in outcome && outcome.kind === "refusal") {
    return replyToRefusal(concealRefusal(outcome, route));
  }
  const result = outcome as HandlerResult;
  if ("error" in result) {
    if (!route.errors.has(result.error)) return `undeclared error "${result.error}"`;
    const named = namedError(result.error, result.message, result.details);
    return replyToRefusal(concealRefusal(named, route));
  }
  const { status = 200, body, headers } = result;
  if (typeof status !== "number" || !isStatus(status)) return `unknown status ${String(status)}`;
  if (body === undefined && result.status === undefined) return "no body, error or status";
  if (headers !== undefined && !areFields(headers)) return "malformed response headers";
  if (isSuccess(status) && status !== 204) {
    const violations = route.output?.check(body);
    if (violations !== undefined) {
      const found = violations.map(({ path, message }) => `${path || "/"} ${message}`).join("; ");
      return `the output does not satisfy the output schema: ${found}`;
    }
  }
  const reserved = route.tier === "B" ? PROTOCOL_FIELDS : FRAMING_FIELDS;
  return successReply(status, body, headers, reserved);
}

function successReply(
  status: Status,
  body: unknown,
  headers: Readonly<Record<string, string>> | undefined,
  reserved: ReadonlySet<string>,
): Reply {
  if (headers === undefined) {
    return { status, body, contentType: AGTP_JSON, headers, refusal: undefined };
  }
  const fields = Object.entries(headers);
  const contentType = fields.find(([name]) => name.toLowerCase() === "content-type")?.[1];
  const others = fields.filter(([name]) => !reserved.has(name.toLowerCase()));
  return {
    status,
    body,
    contentType: contentType ?? AGTP_JSON,
    headers: Object.fromEntries(others),
    refusal: undefined,
  };
}

const FRAMING_FIELDS: ReadonlySet<string> = new Set([
  "content-type",
  "content-length",
  "transfer-encoding",
]);

/** Fields that only the protocol writes; an operator's are dropped. */
const PROTOCOL_FIELDS: ReadonlySet<string> = new Set([
  ...FRAMING_FIELDS,
  "server-id",
  "response-id",
  "request-id",
  "task-id",
  "agent-id",
  "agtp-api-version",
  "agtp-catalog-warning",
  "agtp-endpoint-warning",
  "attribution-record",
  "audit-id",
  "owner-id",
  "trust-tier",
  "trust-warning",
  "verification-path",
  "rcns-attempt-id",
  "contract-synthesized",
  "idempotency-replayed",
]);

function areFields(headers: Readonly<Record<string, string>>): boolean {
  return Object.entries(headers).every(
    ([name, value]) => isFieldName(name) && typeof value === "string" && isFieldValue(value),
  );
}
