/** An answer of the API: a status and a body; every refusal is the same closed envelope.   OpenWOP "error-envelope" */
import { given, type JsonRecord } from "../../../base/json-value.ts";
import type { RateExcess } from "../../../dispatch/rates/rates.ts";
import type { Redact } from "../runs/redact.ts";
import type { RunRefusal, RunRefusalCode } from "../runs/run.ts";

/** An answer as JSON. */
export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A refusal in the error envelope. */
export function refuse(
  status: number,
  error: string,
  message: string,
  details?: JsonRecord,
): ApiAnswer {
  return { status, body: { error, message, ...given({ details }) } };
}

/** A success. */
export function answer(body: unknown, status = 200): ApiAnswer {
  return { status, body };
}

/** The answer to an unknown or missing key.   OpenWOP "auth" */
export function unauthenticated(): ApiAnswer {
  const refusal = refuse(401, "unauthenticated", "a bearer key that is known here is needed");
  return { ...refusal, headers: { "WWW-Authenticate": "Bearer" } };
}

/** The answer for something that does not exist or is hidden from the client. */
export function notFound(): ApiAnswer {
  return refuse(404, "not_found", "there is nothing here");
}

/** The answer to a known path with an unsupported method. */
export function otherMethods(allowed: readonly string[]): ApiAnswer {
  const refusal = refuse(405, "method_not_allowed", "the path is asked with another method");
  return { ...refusal, headers: { Allow: allowed.join(", ") } };
}

/** The answer to a client over its rate limit.   `[limits]` */
export function tooMuch({ scope: reason, retryAfterSeconds }: RateExcess): ApiAnswer {
  const message = `too ${reason === "work" ? "much work" : "many requests"}, try again later`;
  const details = { scope: "key", reason, retryAfterMs: retryAfterSeconds * 1000 };
  const refusal = refuse(429, "rate_limited", message, details);
  return { ...refusal, headers: { "Retry-After": String(retryAfterSeconds) } };
}

/** Redacts secrets that the client put into a refused request's names; successes are unchanged.   SR-1 */
export function concealed(said: ApiAnswer, redact: Redact): ApiAnswer {
  return said.status < 400 ? said : { ...said, body: redact(said.body) };
}

const STATUSES: Readonly<Record<RunRefusalCode, number>> = {
  validation_error: 400,
  agent_not_found: 400,
  run_not_found: 404,
  run_state_conflict: 409,
  run_terminal: 409,
  run_already_active: 409,
  interrupt_not_found: 404,
  interrupt_already_resolved: 409,
  interrupt_expired: 410,
  interrupt_cancelled: 422,
  fork_invalid_seq: 422,
  forbidden: 403,
  mock_provider_forbidden: 403,
  rate_limited: 429,
};

/** Refusals that a later retry may avoid. */
const RETRIED: ReadonlySet<RunRefusalCode> = new Set(["rate_limited", "run_already_active"]);

/** Maps a refusal of a run to an answer. */
export function refuseAs({ code, message, details }: RunRefusal): ApiAnswer {
  if (code === "run_not_found") return notFound();
  const error = code === "agent_not_found" ? "validation_error" : code;
  const refusal = refuse(STATUSES[code], error, message, details);
  return RETRIED.has(code) ? { ...refusal, headers: { "Retry-After": "1" } } : refusal;
}
