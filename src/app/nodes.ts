/** The processes that serve a deployment, as `agtpd nodes` and the console list them: this one alone. */
import { hostname } from "node:os";
import { VERSION } from "../base/version.ts";
import type { NodeFacts } from "../dispatch/http-gateway.ts";

/** Where a daemon listens, and whether it takes requests. */
export interface NodeSource {
  readonly isReady: boolean;
  readonly address: string;
  readonly port: number;
}

/** The name of this process among those that serve the deployment. */
export function nodeName({ port }: Pick<NodeSource, "port">): string {
  return `${hostname()}:${port}`;
}

/** Every process; this one first. */
export async function listNodes(source: NodeSource): Promise<readonly NodeFacts[]> {
  const { isReady, address, port } = source;
  const host = address.includes(":") ? `[${address}]` : address;
  return [
    {
      ...{ node: nodeName(source), address: `${host}:${port}`, version: VERSION, since: SINCE },
      state: isReady ? "ready" : "draining",
      lease_ms: null,
    },
  ];
}

const SINCE = new Date(Date.now() - 1000 * process.uptime()).toISOString();
