/**
 * Asks the servers of declared agents whether they have them, and those of their dependencies, before
 * anything is served; agents whose verification is put off are asked for at their first use. An agent
 * that is not there, or not what was declared, is refused.   AGTP-API "Validation Timing"
 */
import { within } from "../../deadline.ts";
import type { Environment } from "../../environment.ts";
import type { UpstreamPools } from "../../handlers/upstream-pools.ts";
import type { Problem } from "../../problem.ts";
import { AcpClient } from "./acp/acp-client.ts";
import type { DeclaredAgent, Upstream } from "./declare-agents.ts";
import type { DependencyNode } from "./dependencies/dependency-tree.ts";
import { type DependencyView, viewDependencies } from "./dependencies/dependency-view.ts";
import type { AgentManifest } from "./manifest/manifest.ts";
import type { Readiness, RemoteAgent } from "./remote-agent.ts";
import type { AgntcySettings } from "./settings.ts";
import { readAccess } from "./upstream-access.ts";
import { readAddress } from "./upstream-address.ts";
import { probeCancel } from "./verification/probe-cancel.ts";
import { LazyReadiness } from "./verification/readiness.ts";
import { verifyAgent } from "./verification/verify-agent.ts";

/** An agent, found or to be found; without `remote` it is declared and not callable. */
export interface ConnectedAgent {
  readonly declared: DeclaredAgent;
  readonly remote: RemoteAgent | undefined;
  readonly dependencies: readonly DependencyView[];
  isVerified(): boolean | undefined;
}

/** Connections that agents' servers are called over. */
export interface ConnectionPools {
  readonly short: UpstreamPools;
  /** For one agent: what waits takes connections from no other agent, though their server is one. */
  openLong(): UpstreamPools;
}

/** The way out. */
export interface ConnectionContext {
  /** For calls that are answered at once, and for those that wait. */
  readonly pools: ConnectionPools | undefined;
  readonly env: Environment;
  /** Ends what is asked for nobody in particular. */
  readonly closing: AbortSignal;
}

/** How long finding one agent may take. */
const VERIFICATION_MS = 15_000;

/** The agents that can be served, and why the others cannot. */
export async function connectAgents(
  declared: readonly DeclaredAgent[],
  context: ConnectionContext,
): Promise<{ readonly agents: readonly ConnectedAgent[]; readonly problems: readonly Problem[] }> {
  const results = await Promise.all(declared.map((one) => connectAgent(one, context)));
  const agents = results.flatMap((result) => ("declared" in result ? [result] : []));
  const problems = results.flatMap((result) => ("declared" in result ? [] : [result]));
  return { agents, problems };
}

async function connectAgent(
  declared: DeclaredAgent,
  context: ConnectionContext,
): Promise<ConnectedAgent | Problem> {
  const { manifest, settings, upstream } = declared;
  const { pools } = context;
  if (upstream === undefined || pools === undefined) {
    const dependencies = viewDependencies(declared.dependencies, new Map());
    return { declared, remote: undefined, dependencies, isVerified: () => undefined };
  }
  const { address, access, agentId, ca } = upstream;
  const { headers } = access;
  const client = new AcpClient({
    short: { address, headers, ca, pools: pools.short },
    long: { address, headers, ca, pools: pools.openLong() },
  });
  const verify = (): Promise<Readiness> =>
    briefly(context.closing, (signal) => verifyAgent(client, manifest, agentId, signal));
  const found = settings.isDeferred ? undefined : await verify();
  if (found !== undefined && found.kind !== "ready") {
    const key = `${found.kind === "failed" ? "cannot be verified: " : ""}${found.message}`;
    return { file: manifest.file, key: "", message: `is not served, ${key}` };
  }
  const reached = settings.isDeferred
    ? new Map<DependencyNode, { readonly fault: string | undefined }>()
    : await reachAll(declared.dependencies, settings, upstream, context);
  const failed = [...reached].find(([, { fault }]) => fault !== undefined);
  if (failed !== undefined) {
    const [{ name }, { fault }] = failed;
    const message = `is not served, its dependency ${JSON.stringify(name)} fails: ${fault}`;
    return { file: manifest.file, key: "", message };
  }
  const canCancel =
    found !== undefined &&
    (await briefly(context.closing, (signal) => probeCancel(client, signal)));
  const readiness = new LazyReadiness(verify, found);
  const remote: RemoteAgent = {
    ...{ base: settings.base, manifest, client, timeoutMs: settings.timeoutMs, canCancel },
    ready: (signal) => readiness.ready(signal),
    forget: (id) => readiness.forget(id),
  };
  const dependencies = viewDependencies(declared.dependencies, reached);
  return { declared, remote, dependencies, isVerified: () => readiness.isReady };
}

/** Asks for every dependency that is a service, each once. */
async function reachAll(
  nodes: readonly DependencyNode[],
  settings: AgntcySettings,
  parent: Upstream,
  context: ConnectionContext,
): Promise<Map<DependencyNode, { readonly fault: string | undefined }>> {
  const all = flatten(nodes);
  const asked = new Map<AgentManifest, Promise<string | undefined>>();
  const entries = all.flatMap((node) => {
    if (node.choice?.kind !== "callable" || node.located === undefined) return [];
    const { manifest } = node.located;
    const fault = asked.get(manifest) ?? reach(node, settings, parent, context);
    asked.set(manifest, fault);
    return [fault.then((said) => [node, { fault: said }] as const)];
  });
  return new Map(await Promise.all(entries));
}

function flatten(nodes: readonly DependencyNode[]): readonly DependencyNode[] {
  return nodes.flatMap((node) => [node, ...flatten(node.dependencies)]);
}

/** Why a dependency cannot be relied on, if so. */
async function reach(
  { choice, located, ref }: DependencyNode,
  { allowsHttp }: AgntcySettings,
  { ca }: Upstream,
  { pools, env, closing }: ConnectionContext,
): Promise<string | undefined> {
  if (choice?.kind !== "callable" || located === undefined || pools === undefined) return undefined;
  const { service } = choice;
  const access = readAccess(ref.name, env, service.authentication);
  const read = readAddress(service.url, allowsHttp);
  if (read.fault !== undefined) return `its address ${read.fault}`;
  if (access.faults.length > 0) return access.faults.join("; ");
  const connection = { address: read.address, headers: access.headers, ca, pools: pools.short };
  const client = new AcpClient({ short: connection, long: connection });
  const agentId = access.agentId ?? service.agentId;
  const found = await briefly(closing, (signal) =>
    verifyAgent(client, located.manifest, agentId, signal),
  );
  return found.kind === "ready" ? undefined : found.message;
}

function briefly<T>(closing: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return within({ signals: [closing], timeoutMs: VERIFICATION_MS }, work);
}
