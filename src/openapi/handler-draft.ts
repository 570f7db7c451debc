/** The handler table of an imported endpoint: the external service that an operation is. AGTP-API §12.3 */
import { literalValue } from "../base/environment.ts";
import type { JsonRecord } from "../base/json-value.ts";
import type { BodyTarget } from "./input-body.ts";
import type { ParameterTargets } from "./input-parameters.ts";
import type { Operation } from "./operations.ts";
import type { Output } from "./output.ts";
import type { Credentials } from "./security.ts";
import { upstreamUrl } from "./upstream-target.ts";

/** The source of a handler. */
export interface HandlerSource {
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
 * The table, with the keys that have something to say. Where the daemon puts variables in, only the
 * credentials have any: the document's own text is literal.
 */
export function makeHandler(source: HandlerSource): JsonRecord {
  const { operation, baseUrl, credentials, parameters, body, output } = source;
  return {
    type: "external_service",
    url: upstreamUrl(baseUrl, operation.path, parameters.path, credentials.query),
    method: operation.httpMethod,
    timeout_seconds: TIMEOUT_SECONDS,
    ...(body.format === undefined ? {} : { body_format: body.format }),
    ...(body.field === undefined ? {} : { body_field: body.field }),
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
