/**
 * The operations of the API in matching order; this file itself has those about agents, packs and workflows. The
 * OpenAPI document is generated from them.   OpenWOP RFC 0072 §A, RFC 0003, "rest-endpoints"
 */

import type { JsonRecord } from "../../../base/json-value.ts";
import { templateNames } from "../../../base/template.ts";
import { VERSION } from "../../../base/version.ts";
import { inventoryBody } from "../agent-catalog.ts";
import { redactDefinition } from "../runs/redact.ts";
import { type ApiAnswer, answer, notFound } from "./answer.ts";
import type { ApiCall, ApiRoute, Operation } from "./api-route.ts";
import { POLL_ROUTE, STREAM_ROUTE } from "./event-routes.ts";
import { INTERRUPT_ROUTES, PAUSE_ROUTES } from "./interrupt-routes.ts";
import { RUN_ROUTES } from "./run-routes.ts";
import { SEAM_ROUTES } from "./seam-routes.ts";

const CATALOG_ROUTES: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "/v1/agents",
    summary: "List the agents that can be run",
    scopes: ["manifest:read"],
    handle: ({ parts, key }) => answer(inventoryBody(parts.catalog.inventory(key.tenant))),
  },
  {
    method: "GET",
    path: "/v1/agents/{agentId}",
    summary: "Read the inventory entry of an agent",
    scopes: ["manifest:read"],
    handle: readAgent,
  },
  {
    method: "GET",
    path: "/v1/packs",
    summary: "List the installed packs",
    scopes: ["manifest:read"],
    handle: ({ parts, key }) => {
      const packs = parts.catalog.packs(key.tenant);
      return answer({ packs, total: packs.length });
    },
  },
  {
    method: "GET",
    path: "/v1/packs/export",
    summary: "Read the manifests of the installed agents, so that they can be installed elsewhere",
    scopes: ["manifest:read"],
    handle: ({ parts, key }) => {
      const { manifests, packs } = parts.catalog.exports(key.tenant);
      return answer({ manifests, total: manifests.length, packs });
    },
  },
  {
    method: "GET",
    path: "/v1/workflows/{workflowId}",
    summary: "Read the definition of a workflow",
    scopes: ["manifest:read"],
    handle: readWorkflow,
  },
];

function readAgent({ parts, key, params }: ApiCall): ApiAnswer {
  const entry = parts.catalog.find(params["agentId"] ?? "", key.tenant);
  return entry === undefined ? notFound() : answer(entry);
}

function readWorkflow({ parts, key, params }: ApiCall): ApiAnswer {
  const workflow = parts.host.workflow(params["workflowId"] ?? "", key.tenant);
  return workflow === undefined
    ? notFound()
    : answer(redactDefinition(workflow.definition, parts.redact));
}

/** Every operation, in matching order. */
export const API_ROUTES: readonly ApiRoute[] = [
  ...RUN_ROUTES,
  ...PAUSE_ROUTES,
  POLL_ROUTE,
  STREAM_ROUTE,
  ...INTERRUPT_ROUTES,
  ...CATALOG_ROUTES,
  ...SEAM_ROUTES,
];

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

/** Operations without authentication. */
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
