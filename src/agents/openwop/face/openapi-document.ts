/** The API's description of itself, from the same routes that it is served by.   OpenWOP "rest-endpoints" */
import type { JsonRecord } from "../../../json-value.ts";
import { VERSION } from "../../../version.ts";
import type { FaceRoute } from "./face-route.ts";

/** OpenAPI 3.1. */
export function openApiDocument(routes: readonly Omit<FaceRoute, "handle">[]): JsonRecord {
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
    paths: Object.fromEntries(paths),
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

function operation({ method, path, summary, scopes }: Omit<FaceRoute, "handle">): JsonRecord {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  const parameters = names.map((name) => ({
    ...{ name, in: "path", required: true, schema: { type: "string" } },
  }));
  const content = { "application/json": { schema: { type: "object" } } };
  const envelope = {
    description: "A refusal",
    content: {
      "application/json": { schema: { $ref: "#/components/schemas/ErrorEnvelope" } },
    },
  };
  return {
    operationId: operationId(method, path),
    summary,
    description: `Needs a key with the scope ${scopes.join(" and ")}.`,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(method === "POST" ? { requestBody: { content } } : {}),
    responses: { "2XX": { description: "An answer", content }, "4XX": envelope, "5XX": envelope },
  };
}

function operationId(method: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== "" && word !== "v1");
  return [method.toLowerCase(), ...words].join("_");
}
