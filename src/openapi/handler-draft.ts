/** The handler table of an imported endpoint, with the operation as its external service. AGTP-API §12.3 */
import { literalText, literalValue } from "../base/environment.ts";
import { given, type JsonRecord } from "../base/json-value.ts";
import { fillTemplate, templatePieces } from "../base/template.ts";
import { UPSTREAM_ERRORS } from "../endpoint/endpoint.ts";
import type { BodyTarget } from "./input-body.ts";
import type { ParameterTargets } from "./input-parameters.ts";
import type { Operation } from "./operations.ts";
import type { Output } from "./output.ts";
import type { Credentials } from "./servers-and-security.ts";
import { snake, UniqueNames, wordsOf } from "./words.ts";

interface HandlerSource {
  readonly operation: Operation;
  readonly baseUrl: string;
  readonly credentials: Credentials;
  readonly parameters: ParameterTargets;
  readonly body: BodyTarget;
  readonly output: Output;
  readonly errorMap: Readonly<Record<string, string>>;
}

const TIMEOUT_SECONDS = 30;

/**
 * Builds the table, without keys at their defaults. Only credentials may contain variables, which
 * the daemon replaces: the document's own text is literal.
 */
export function makeHandler(source: HandlerSource): JsonRecord {
  const { operation, baseUrl, credentials, parameters, body, output } = source;
  return {
    type: "external_service",
    url: upstreamUrl(baseUrl, operation.path, parameters.path, [
      ...parameters.queryFields.map((field) => `{${field}}`),
      ...credentials.query,
    ]),
    method: operation.httpMethod,
    timeout_seconds: TIMEOUT_SECONDS,
    ...given({ body_format: body.format, body_field: body.field }),
    ...(output.format === "json" ? {} : { response_format: output.format }),
    ...tableOf("headers", {
      ...credentials.headers,
      ...literalValue({
        ...(body.contentType === undefined ? {} : { "Content-Type": body.contentType }),
        ...(output.accept === undefined ? {} : { Accept: output.accept }),
      }),
    }),
    ...tableOf("header_fields", parameters.headers),
    ...tableOf("query", literalValue(parameters.query)),
    ...tableOf("styles", { ...parameters.styles, ...body.styles }),
    ...tableOf("input_transform", body.transform),
    ...tableOf("error_map", source.errorMap),
  };
}

function tableOf(name: string, table: Readonly<Record<string, string>>): JsonRecord {
  return Object.keys(table).length === 0 ? {} : { [name]: table };
}

const UNSAFE = /[^A-Za-z0-9\-._~!$&'()*+,;=:@%/?{}]/gu;

/**
 * Builds the URL template; `fields` replace the path's parameters in order, and `query` is added by
 * this program, and may contain variables.
 */
function upstreamUrl(
  baseUrl: string,
  path: string,
  fields: readonly string[],
  query: readonly string[],
): string {
  const [withQuery = ""] = path.split("#", 1);
  const [plain = "", written = ""] = withQuery.split("?", 2);
  let index = 0;
  const renamed = fillTemplate(encode(plain), () => {
    index += 1;
    return fields[index - 1] ?? "";
  });
  const filled = renamed.replace(/\{(?!\w+\})|(?<!\{\w+)\}/g, "");
  // A placeholder in a query within the path belongs to no parameter of the operation.
  const own = /[{}]/.test(written) ? "" : encode(written);
  const parts = [literalText(own), ...query];
  const search = parts.filter((part) => part !== "").join("&");
  return `${literalText(baseUrl + filled)}${search === "" ? "" : `?${search}`}`;
}

function encode(text: string): string {
  const whole = text.replace(/\p{Surrogate}/gu, "\ufffd").replace(/%(?![0-9A-Fa-f]{2})/g, "%25");
  return templatePieces(whole)
    .map((piece) =>
      piece.kind === "parameter"
        ? `{${piece.name}}`
        : piece.text.replace(UNSAFE, encodeURIComponent),
    )
    .join("");
}

interface NamedErrors {
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
/** Descriptions that consist of these words say less than the status. */
const EMPTY_WORDS: ReadonlySet<string> = new Set([
  ...["a", "an", "and", "bad", "client", "default", "description", "error", "errors", "http"],
  ...["occurred", "of", "response", "server", "the", "unexpected", "request", "failed", "generic"],
]);

/**
 * Names the errors of an operation, and those of every external service: after the document's
 * description of the status, or the status itself.   AGTP-API §6.4, §12.3
 */
export function nameErrors({ responses }: Operation): NamedErrors {
  const names = new UniqueNames("_", UPSTREAM_ERRORS);
  const map: Record<string, string> = {};
  for (const [status, { summary, description }] of responses) {
    if (!/^[45]\d\d$/.test(status)) continue;
    const usual = BY_STATUS[status] ?? `http_${status}`;
    const told = [summary, description].map(nameOf).find((name) => name !== undefined);
    map[status] = names.take(told === undefined || names.has(told) ? usual : told);
  }
  return { errors: [...Object.values(map), ...UPSTREAM_ERRORS], map };
}

/** "Pet not found" becomes `pet_not_found`; a sentence is not a name. */
function nameOf(description: unknown): string | undefined {
  if (typeof description !== "string") return undefined;
  const words = wordsOf(description.trim().replace(/[.!]$/, ""));
  const isName = words.length > 0 && words.length <= MAX_WORDS && !/[.!?:;]\s/.test(description);
  if (!isName || words.every((word) => EMPTY_WORDS.has(word) || /^\d+$/.test(word))) {
    return undefined;
  }
  const name = snake(words.join(" "));
  return /^[a-z]/.test(name) ? name : undefined;
}
