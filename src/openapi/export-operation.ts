/** One endpoint as an operation of an OpenAPI document.   AGTP-API §14.2 */

import { isRecord, type JsonRecord } from "../base/json-value.ts";
import { templateParameters } from "../catalog/path-grammar.ts";
import { propertiesOf } from "../endpoint/input-shape.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import type { SchemaComponents } from "./export-schema.ts";
import type { ExportedEndpoint } from "./exported-endpoint.ts";
import { EXTENSION } from "./extension.ts";
import { type HttpForm, otherFields } from "./http-form.ts";

/** The place of an endpoint in the document. */
export interface OperationPlace {
  readonly form: HttpForm;
  /** The document's path; parameters of the same place may be called otherwise there. */
  readonly path: string;
  readonly operationId: string;
}

/** The operation. */
export function exportOperation(
  endpoint: ExportedEndpoint,
  { form, path, operationId }: OperationPlace,
  components: SchemaComponents,
): JsonRecord {
  const { inputSchema, outputSchema, semantic, errors, namespace, deprecated } = endpoint;
  const input = components.adopt(inputSchema, `${operationId}_input`);
  const output = components.adopt(outputSchema, `${operationId}_output`);
  const body = form.hasBody ? bodySchema(endpoint) : undefined;
  return {
    operationId,
    summary: semantic.intent,
    description: endpoint.description,
    ...(namespace === undefined ? {} : { tags: [namespace] }),
    ...(deprecated === undefined ? {} : { deprecated: true }),
    ...listOf("parameters", parametersOf(endpoint, form, path, input)),
    ...(body === undefined ? {} : { requestBody: requestBody(body, input) }),
    responses: {
      "200": {
        description: semantic.outcome,
        content: { "application/json": { schema: output(outputSchema) } },
      },
      ...(errors.length === 0 ? {} : { "422": errorResponse(errors) }),
      default: { $ref: "#/components/responses/Refusal" },
    },
    ...extensionOf(endpoint),
  };
}

function extensionOf(endpoint: ExportedEndpoint): JsonRecord {
  const { method, path, semantic, errors, requiredScopes, namespace, deprecated } = endpoint;
  return {
    [EXTENSION.method]: method,
    [EXTENSION.path]: path,
    [EXTENSION.description]: endpoint.description,
    ...(namespace === undefined ? {} : { [EXTENSION.namespace]: namespace }),
    [EXTENSION.semantic]: semantic,
    [EXTENSION.errors]: errors,
    ...(requiredScopes.length === 0 ? {} : { [EXTENSION.scopes]: requiredScopes }),
    ...(deprecated === undefined ? {} : { [EXTENSION.deprecated]: deprecated }),
  };
}

function parametersOf(
  endpoint: ExportedEndpoint,
  form: HttpForm,
  path: string,
  rewrite: (schema: JsonSchema) => JsonSchema,
): readonly JsonRecord[] {
  const properties = propertiesOf(endpoint.inputSchema);
  const here = templateParameters(endpoint.path);
  const parameter = (name: string, field: string, place: "path" | "query"): JsonRecord => {
    const schema = properties[field];
    return {
      name,
      in: place,
      required: place === "path" || requiredOf(endpoint.inputSchema).includes(field),
      schema: isRecord(schema) ? rewrite(schema) : {},
    };
  };
  return [
    ...templateParameters(path).map((name, index) => parameter(name, here[index] ?? name, "path")),
    ...(form.hasBody ? [] : otherFields(endpoint)).map((name) => parameter(name, name, "query")),
  ];
}

/** The input without the fields of the path; undefined when nothing is left of it. */
function bodySchema(endpoint: ExportedEndpoint): JsonSchema | undefined {
  const { inputSchema } = endpoint;
  const fields = otherFields(endpoint);
  if (fields.length === 0) return undefined;
  const { properties, required, $defs: _defs, ...rest } = inputSchema;
  const kept = requiredOf({ required }).filter((name) => fields.includes(name));
  const known = propertiesOf({ properties });
  return {
    ...rest,
    ...listOf("required", kept),
    properties: Object.fromEntries(fields.map((name) => [name, known[name]])),
  };
}

function requestBody(schema: JsonSchema, rewrite: (schema: JsonSchema) => JsonSchema): JsonRecord {
  return {
    required: requiredOf(schema).length > 0,
    content: { "application/json": { schema: rewrite(schema) } },
  };
}

function requiredOf({ required }: JsonSchema): readonly string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
}

/** An error that the endpoint declares, by its name. */
function errorResponse(errors: readonly string[]): JsonRecord {
  const code = { type: "string", enum: [...errors, "schema-validation-failed"] };
  const error = {
    type: "object",
    required: ["code", "message"],
    properties: { code, message: { type: "string" }, details: {} },
  };
  const schema = { type: "object", required: ["error"], properties: { error } };
  return {
    description: "The input is invalid, or the endpoint answers with one of its named errors.",
    content: { "application/json": { schema } },
  };
}

function listOf(name: string, list: readonly unknown[]): JsonRecord {
  return list.length === 0 ? {} : { [name]: list };
}
