/**
 * The error responses of an operation as named errors: the name is made of what the document says
 * about the status, or of the status itself.   AGTP-API §6.4, §12.3
 */
import { UPSTREAM_ERRORS } from "../endpoint/endpoint.ts";
import type { Operation } from "./operations.ts";
import { snake, UniqueNames, wordsOf } from "./words.ts";

/** The errors of an endpoint, and which status means which. */
export interface NamedErrors {
  readonly errors: readonly string[];
  readonly map: Readonly<Record<string, string>>;
}

const BY_STATUS: Readonly<Record<string, string>> = {
  "400": "invalid_request",
  "401": "unauthorized",
  "402": "payment_required",
  "403": "forbidden",
  "404": "not_found",
  "405": "method_not_allowed",
  "406": "not_acceptable",
  "408": "request_timeout",
  "409": "conflict",
  "410": "gone",
  "412": "precondition_failed",
  "413": "content_too_large",
  "415": "unsupported_media_type",
  "422": "unprocessable_content",
  "423": "locked",
  "424": "failed_dependency",
  "428": "precondition_required",
  "429": "rate_limited",
  "451": "unavailable_for_legal_reasons",
  "500": "internal_error",
  "501": "not_implemented",
  "502": "bad_gateway",
  "503": "service_unavailable",
  "504": "gateway_timeout",
};
const MAX_WORDS = 5;
/** Descriptions of nothing but these say less than the status does. */
const EMPTY_WORDS: ReadonlySet<string> = new Set([
  ...["a", "an", "and", "bad", "client", "default", "description", "error", "errors", "http"],
  ...["occurred", "of", "response", "server", "the", "unexpected", "request", "failed", "generic"],
]);

/** The errors of an operation, and those that every external service has. */
export function nameErrors({ responses }: Operation): NamedErrors {
  const names = new UniqueNames("_", UPSTREAM_ERRORS);
  const map: Record<string, string> = {};
  for (const [status, { description }] of responses) {
    if (!/^[45]\d\d$/.test(status)) continue;
    const usual = BY_STATUS[status] ?? `http_${status}`;
    const told = typeof description === "string" ? nameOf(description) : undefined;
    map[status] = names.take(told === undefined || names.has(told) ? usual : told);
  }
  return { errors: [...Object.values(map), ...UPSTREAM_ERRORS], map };
}

/** "Pet not found" is `pet_not_found`; a sentence is no name. */
function nameOf(description: string): string | undefined {
  const words = wordsOf(description.trim().replace(/[.!]$/, ""));
  const isName = words.length > 0 && words.length <= MAX_WORDS && !/[.!?:;]\s/.test(description);
  if (!isName || words.every((word) => EMPTY_WORDS.has(word) || /^\d+$/.test(word))) {
    return undefined;
  }
  const name = snake(words.join(" "));
  return /^[a-z]/.test(name) ? name : undefined;
}
