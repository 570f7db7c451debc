/** The processes that serve this deployment: this one. */
import { hostname } from "node:os";
import { VERSION } from "../../../base/version.ts";
import type { DaemonFacts } from "../../../dispatch/http-gateway.ts";
import type { ApiRoute } from "../console-api.ts";

/** `GET /api/nodes` */
export function nodeRoute(daemon: () => DaemonFacts | undefined): ApiRoute {
  const since = new Date(Date.now() - 1000 * process.uptime()).toISOString();
  return {
    method: "GET",
    path: "/nodes",
    answer: () => {
      const { address, port } = daemon() ?? { address: "", port: 0 };
      const node = { node: `${hostname()}:${port}`, address: `${address}:${port}` };
      return { nodes: [{ ...node, version: VERSION, since, state: "ready" }] };
    },
  };
}
