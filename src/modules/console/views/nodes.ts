/** The processes that serve this deployment. */
import type { DaemonFacts } from "../../../dispatch/module/http-gateway.ts";
import type { ApiRoute } from "../console-api.ts";

/** `GET /api/nodes` */
export function nodeRoute(daemon: () => DaemonFacts | undefined): ApiRoute {
  return {
    method: "GET",
    path: "/nodes",
    answer: async () => ({ nodes: (await daemon()?.nodes()) ?? [] }),
  };
}
