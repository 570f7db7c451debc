/**
 * All operations of the API, in the order in which they are looked for; here those about everything
 * that can be run: agents, the packs they came in, and workflows.   OpenWOP RFC 0072 §A, RFC 0003
 */

import { inventoryBody } from "../agent-catalog.ts";
import { type ApiAnswer, answer, notFound } from "./answer.ts";
import type { ApiCall, ApiRoute } from "./api-route.ts";
import { POLL_ROUTE, STREAM_ROUTE } from "./event-routes.ts";
import { INTERRUPT_ROUTES, PAUSE_ROUTES } from "./interrupt-routes.ts";
import { RUN_ROUTES } from "./run-routes.ts";
import { SEAM_ROUTES } from "./seam-routes.ts";

/** The operations. */
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
  return workflow === undefined ? notFound() : answer(parts.redact(workflow.definition));
}

/** Every operation, in the order in which they are looked for. */
export const API_ROUTES: readonly ApiRoute[] = [
  ...RUN_ROUTES,
  ...PAUSE_ROUTES,
  POLL_ROUTE,
  STREAM_ROUTE,
  ...INTERRUPT_ROUTES,
  ...CATALOG_ROUTES,
  ...SEAM_ROUTES,
];
