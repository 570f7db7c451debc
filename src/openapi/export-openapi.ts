/**
 * Exports a server's endpoints as an OpenAPI 3.1 document for HTTP clients of its sidecar. The
 * document states that it is derived, and names the manifest that it is derived from.   AGTP-API §14.2
 */
import { isRecord, type JsonRecord, textsIn } from "../base/json-value.ts";
import { templateShape } from "../base/template.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { templateParameters } from "../catalog/path-grammar.ts";
import type { OauthConfig } from "../dispatch/policy/policies-section.ts";
import { propertiesOf } from "../endpoint/input-shape.ts";
import { checkReservation } from "../endpoint/method-rule.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { SchemaComponents } from "./export-schema.ts";
import { DERIVED_FROM, EXTENSION } from "./extension.ts";
import {
  type ExportedEndpoint,
  type HttpAliases,
  type HttpForm,
  httpForm,
  otherFields,
} from "./http-form.ts";
import { snake, UniqueNames } from "./words.ts";

export interface ExportSource {
  /** Every served endpoint; those of the protocol itself are left out of the document. */
  readonly endpoints: readonly ExportedEndpoint[];
  readonly serverId: string;
  readonly operator?: string | undefined;
  /** The manifest's `document_version`, which changes with the served endpoints. */
  readonly documentVersion?: string | undefined;
  readonly catalog: Catalog;
  /** The URI of the server whose manifest it is: `agtp://agents.acme.example`. */
  readonly manifestUri: string;
  /** The URL of the sidecar; undefined for a document without servers. */
  readonly baseUrl?: string | undefined;
  readonly aliases: HttpAliases;
  /** The issuer of bearer tokens, and the methods that require one; undefined if tokens are not accepted. */
  readonly oauth?: TokenPolicy | undefined;
}

type TokenPolicy = Pick<OauthConfig, "issuer" | "requiredOnMethods">;

/** The name of the security scheme. */
const BEARER = "bearer";

/** Builds the document; the same source always yields the same document. */
export function exportOpenapi(source: ExportSource): JsonRecord {
  const components = new SchemaComponents();
  const paths = exportPaths(source, components);
  const { documentVersion, baseUrl, oauth } = source;
  return {
    openapi: "3.1.0",
    info: infoOf(source),
    servers: baseUrl === undefined ? undefined : [{ url: baseUrl }],
    externalDocs: { description: "The manifest", url: source.manifestUri },
    paths,
    components: {
      ...{ schemas: components.schemas, responses: { Refusal: REFUSAL } },
      securitySchemes: oauth && { [BEARER]: schemeOf(oauth) },
    },
    [DERIVED_FROM]: {
      manifest: source.manifestUri,
      server_id: source.serverId,
      catalog_version: source.catalog.version,
      document_version: documentVersion,
    },
  };
}

function schemeOf({ issuer }: TokenPolicy): JsonRecord {
  return { type: "http", scheme: "bearer", description: `A token of ${issuer}` };
}

/** The security requirement of an operation: some methods require a token, others accept one.   OpenAPI 3.1 §4.8.30 */
function securityOf(
  method: string,
  oauth: TokenPolicy | undefined,
): readonly JsonRecord[] | undefined {
  if (oauth === undefined) return undefined;
  const withToken = { [BEARER]: [] };
  return oauth.requiredOnMethods.includes(method) ? [withToken] : [{}, withToken];
}

const REFUSAL: JsonRecord = {
  description: "The request is refused, or could not be served.",
  content: {
    "application/json": {
      schema: {
        type: "object",
        required: ["error"],
        properties: {
          error: {
            type: "object",
            required: ["code", "message"],
            properties: { code: { type: "string" }, message: { type: "string" } },
          },
        },
      },
    },
  },
};

function infoOf({ serverId, operator, documentVersion, manifestUri }: ExportSource): JsonRecord {
  const whose = operator === undefined ? "" : ` of ${operator}`;
  return {
    title: serverId,
    version: documentVersion ?? "1.0.0",
    description:
      `The HTTP form of the AGTP endpoints${whose}. Derived from the manifest at ` +
      `[${manifestUri}](${manifestUri}), which is authoritative.`,
    "x-agtp-manifest": manifestUri,
  };
}

function exportPaths(source: ExportSource, components: SchemaComponents): JsonRecord {
  const paths = new Map<string, Record<string, JsonRecord>>();
  const spellings = new Map<string, string>();
  const ids = new UniqueNames("_");
  for (const endpoint of source.endpoints) {
    const { method, path } = endpoint;
    if (checkReservation(method, path, source.catalog.embedded) !== undefined) continue;
    const form = httpForm(endpoint, source.aliases, source.catalog);
    // In OpenAPI, paths that differ only in parameter names are the same path.
    const shape = templateShape(form.path);
    const spelling = spellings.get(shape) ?? form.path;
    spellings.set(shape, spelling);
    const item = paths.get(spelling) ?? {};
    paths.set(spelling, item);
    if (item[form.method] !== undefined) continue;
    const operationId = ids.take(snake(`${method} ${path.replaceAll("{", "by ")}`));
    const place = { form, path: spelling, operationId };
    const operation = exportOperation(endpoint, place, components);
    item[form.method] = { ...operation, security: securityOf(method, source.oauth) };
  }
  return Object.fromEntries([...paths].map(([path, item]) => [path, sortItem(item)]));
}

const METHOD_ORDER: readonly HttpForm["method"][] = ["get", "post", "put", "patch", "delete"];

function sortItem(item: Readonly<Record<string, JsonRecord>>): JsonRecord {
  const known = METHOD_ORDER.filter((method) => item[method] !== undefined);
  return Object.fromEntries(known.map((method) => [method, item[method]]));
}

interface OperationPlace {
  readonly form: HttpForm;
  /** The path in the document, where parameters at one position share a name. */
  readonly path: string;
  readonly operationId: string;
}

/** Exports one endpoint as an OpenAPI operation.   AGTP-API §14.2 */
function exportOperation(
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
    tags: namespace === undefined ? undefined : [namespace],
    deprecated: deprecated === undefined ? undefined : true,
    ...listOf("parameters", parametersOf(endpoint, form, path, input)),
    requestBody: body && requestBody(body, input),
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
    [EXTENSION.namespace]: namespace,
    [EXTENSION.semantic]: semantic,
    [EXTENSION.errors]: errors,
    ...(requiredScopes.length === 0 ? {} : { [EXTENSION.scopes]: requiredScopes }),
    [EXTENSION.deprecated]: deprecated,
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
      required: place === "path" || textsIn(endpoint.inputSchema["required"]).includes(field),
      schema: isRecord(schema) ? rewrite(schema) : {},
    };
  };
  return [
    ...templateParameters(path).map((name, index) => parameter(name, here[index] ?? name, "path")),
    ...(form.hasBody ? [] : otherFields(endpoint)).map((name) => parameter(name, name, "query")),
  ];
}

/** The input schema without the fields of the path; undefined if none remain. */
function bodySchema(endpoint: ExportedEndpoint): JsonSchema | undefined {
  const { inputSchema } = endpoint;
  const fields = otherFields(endpoint);
  if (fields.length === 0) return undefined;
  const { properties, required, $defs: _defs, ...rest } = inputSchema;
  const kept = textsIn(required).filter((name) => fields.includes(name));
  const known = propertiesOf({ properties });
  return {
    ...rest,
    ...listOf("required", kept),
    properties: Object.fromEntries(fields.map((name) => [name, known[name]])),
  };
}

function requestBody(schema: JsonSchema, rewrite: (schema: JsonSchema) => JsonSchema): JsonRecord {
  return {
    required: textsIn(schema["required"]).length > 0,
    content: { "application/json": { schema: rewrite(schema) } },
  };
}

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
