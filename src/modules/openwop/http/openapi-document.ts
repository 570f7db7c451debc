/** The API's description of itself, from the same routes that it is served by.   OpenWOP "rest-endpoints" */
import type { JsonRecord } from "../../../base/json-value.ts";
import { templateNames } from "../../../base/template.ts";
import { VERSION } from "../../../base/version.ts";
import type { Operation } from "./api-route.ts";

/** OpenAPI 3.1. */
export function openApiDocument(routes: readonly Operation[]): JsonRecord {
  const paths = new Map<string, Record<string, unknown>>();
  for (const route of routes) {
    const item = paths.get(route.path) ?? {};
    item[route.method.toLowerCase()] = operation(route);
    paths.set(route.path, item);
  }
  return {
    openapi: "3.1.0",
    info: { title: "OpenWOP", version: VERSION },
    security: [{ bearer: [] }],
    paths: { ...OPEN, ...Object.fromEntries(paths) },
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      schemas: { ErrorEnvelope: ENVELOPE },
    },
  };
}

const ENVELOPE = {
  type: "object",
  required: ["error", "message"],
  properties: {
    error: { type: "string", minLength: 1 },
    message: { type: "string", minLength: 1 },
    details: { type: "object" },
  },
  additionalProperties: false,
};

const REFUSAL = {
  description: "A refusal",
  content: { "application/json": { schema: { $ref: "#/components/schemas/ErrorEnvelope" } } },
};
const ANY_OBJECT = { type: "object" };
const IDEMPOTENCY_KEY = {
  ...{ name: "Idempotency-Key", in: "header" },
  description: "The same request under the same key is done once.",
  schema: { type: "string", minLength: 1, maxLength: 255 },
};

/** The operations that anybody may call. */
const OPEN = {
  "/.well-known/openwop": openOperation("get_discovery", "Read what this host does"),
  "/v1/openapi.json": openOperation("get_openapi", "Read this document"),
};

function openOperation(id: string, summary: string): JsonRecord {
  return { get: { operationId: id, summary, security: [], responses: responses([]) } };
}

function operation(route: Operation): JsonRecord {
  const { method, path, summary, scopes, streams, body = ANY_OBJECT } = route;
  const named = templateNames(path).map((name) => ({
    ...{ name, in: "path", required: true, schema: { type: "string" } },
  }));
  const keyed = method === "POST" ? [IDEMPOTENCY_KEY] : [];
  const parameters = [...named, ...(route.parameters ?? []), ...keyed];
  return {
    operationId: operationId(method, path),
    summary,
    description: `Needs a key with the scope ${scopes.join(" and ")}.`,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(method === "POST"
      ? { requestBody: { content: { "application/json": { schema: body } } } }
      : {}),
    responses: responses(streams === undefined ? [] : [streams]),
  };
}

function responses(otherTypes: readonly string[]): JsonRecord {
  const others = otherTypes.map((type) => [type, { schema: { type: "string" } }] as const);
  const content = { "application/json": { schema: ANY_OBJECT }, ...Object.fromEntries(others) };
  return { "2XX": { description: "An answer", content }, "4XX": REFUSAL, "5XX": REFUSAL };
}

function operationId(method: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== "" && word !== "v1");
  return [method.toLowerCase(), ...words].join("_");
}
