/** The processes that serve a deployment, as `agtpd nodes` and the console list them. */
import { availableParallelism, hostname } from "node:os";
import { urlHost } from "../base/url-host.ts";
import { VERSION } from "../base/version.ts";
import type { NodeFacts } from "../dispatch/module/http-gateway.ts";
import type { NodeEntry, ViewLease } from "../state/state.ts";
import type { Config } from "./config/config.ts";

/** The address of a daemon, and whether it takes requests. */
export interface NodeSource {
  readonly isReady: boolean;
  readonly address: string;
  readonly port: number;
}

/** The name of this process among those that serve the deployment. */
export function nodeName(
  { port }: Pick<NodeSource, "port">,
  view: Pick<ViewLease, "node"> | undefined,
): string {
  return view?.node ?? `${hostname()}:${port}`;
}

/** Every process; this one first. */
export async function listNodes(
  source: NodeSource,
  view: ViewLease,
): Promise<readonly NodeFacts[]> {
  const { isReady } = source;
  const name = nodeName(source, view);
  // A store that does not answer knows of no others.
  const all: readonly NodeEntry[] = (await view.nodes?.().catch(() => [])) ?? [];
  const own: NodeFacts = {
    ...{ node: name, address: hostAndPort(source), version: VERSION, since: SINCE },
    state: isReady && view.isFresh ? "ready" : "draining",
    lease_ms: all.find(({ node }) => node === name)?.leaseMs ?? null,
  };
  return [own, ...all.filter(({ node }) => node !== name).map(factsOf)];
}

/** An address as it stands in a URL. */
export function hostAndPort({ address, port }: Omit<NodeSource, "isReady">): string {
  return `${urlHost(address)}:${port}`;
}

function factsOf({ leaseMs, state, ...entry }: NodeEntry): NodeFacts {
  return { ...entry, state: state === "live" ? "ready" : "lost", lease_ms: leaseMs };
}

const SINCE = new Date(Date.now() - 1000 * process.uptime()).toISOString();

/** How many processes answer, `[server] workers`: one unless it says more; "auto" is one a core. */
export function countWorkers({ server }: Config): number {
  return server.workers === "auto" ? availableParallelism() : server.workers;
}
