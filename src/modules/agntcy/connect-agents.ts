/**
 * Verifies at the start that declared agents and their dependencies exist at their servers; with deferred verification,
 * at first use. A missing or different agent is a passing problem: calls are refused, and it is looked up again until
 * found.   AGTP-API "Validation Timing"
 */
import { within } from "../../base/deadline.ts";
import type { Environment } from "../../base/environment.ts";
import type { Problem } from "../../base/problem.ts";
import type { UpstreamPools } from "../../handlers/upstream-pools.ts";
import { AcpClient } from "./acp/acp-client.ts";
import type { AgntcyConfig } from "./config.ts";
import type { DeclaredAgent, Upstream } from "./declare-agents.ts";
import {
  type DependencyNode,
  type DependencyView,
  viewDependencies,
} from "./dependencies/dependency-tree.ts";
import type { AgentManifest } from "./manifest/manifest.ts";
import type { AgentUnavailable, Readiness, RemoteAgent } from "./remote-agent.ts";
import { credentialHint, readAccess, readAddress } from "./upstream.ts";
import { LazyReadiness } from "./verification/readiness.ts";
import { probeCancel, verifyAgent } from "./verification/verify-agent.ts";

/** A declared agent; without `remote` it cannot be called. */
export interface ConnectedAgent {
  readonly declared: DeclaredAgent;
  readonly remote: RemoteAgent | undefined;
  /** The verification, as far as it is known. */
  readonly readiness: LazyReadiness | undefined;
  dependencies(): readonly DependencyView[];
}

/** The connections to agents' servers. */
interface ConnectionPools {
  readonly short: UpstreamPools;
  /** Opens an agent's own pool, so that its waiting calls cannot starve agents on the same server. */
  openLong(): UpstreamPools;
}

interface ConnectionContext {
  /** Short connections for immediate calls, and long ones for waiting calls. */
  readonly pools: ConnectionPools | undefined;
  readonly env: Environment;
  /** Aborted when this server closes; ends calls made on nobody's behalf. */
  readonly closing: AbortSignal;
}

/** The timeout of verifying one agent. */
const VERIFICATION_MS = 15_000;

/** The agents, and the problems of those not found. */
export async function connectAgents(
  declared: readonly DeclaredAgent[],
  context: ConnectionContext,
): Promise<{ readonly agents: readonly ConnectedAgent[]; readonly problems: readonly Problem[] }> {
  const results = await Promise.all(declared.map((one) => connectAgent(one, context)));
  const agents = results.map(({ agent }) => agent);
  return { agents, problems: results.flatMap(({ problem }) => problem ?? []) };
}

interface Connected {
  readonly agent: ConnectedAgent;
  readonly problem?: Problem | undefined;
}

async function connectAgent(
  declared: DeclaredAgent,
  context: ConnectionContext,
): Promise<Connected> {
  const { manifest, settings, upstream } = declared;
  const { pools } = context;
  if (upstream === undefined || pools === undefined) {
    const dependencies = viewDependencies(declared.dependencies, new Map());
    const nothing = { remote: undefined, readiness: undefined };
    return { agent: { declared, ...nothing, dependencies: () => dependencies } };
  }
  const client = openClient(manifest, upstream, pools.short, pools.openLong());
  let reached: Reached = new Map();
  const verify = (): Promise<Readiness> =>
    briefly(context.closing, async (signal) => {
      const found = await verifyAgent(client, manifest, upstream.agentId, signal);
      if (found.kind !== "ready" || settings.deferred) return found;
      reached = await reachAll(declared.dependencies, settings, upstream, context);
      return missingDependency(reached) ?? found;
    });
  const found = settings.deferred ? undefined : await verify();
  const canCancel =
    found?.kind === "ready" &&
    (await briefly(context.closing, (signal) => probeCancel(client, signal)));
  const readiness = new LazyReadiness(verify, found);
  const remote: RemoteAgent = {
    ...{
      base: settings.base,
      manifest,
      client,
      timeoutMs: settings.timeoutSeconds * 1000,
      canCancel,
    },
    ...{ agentAnswers: settings.agentAnswers, approverScope: settings.approverScope },
    ready: (signal) => readiness.ready(signal),
    forget: (id) => readiness.forget(id),
  };
  const dependencies = () => viewDependencies(declared.dependencies, reached);
  const problem = found && problemOf(manifest, found);
  return { agent: { declared, remote, readiness, dependencies }, problem };
}

/** The problem is passing, since the server may recover: it does not stop the deployment. */
function problemOf({ file }: AgentManifest, found: Readiness): Problem | undefined {
  if (found.kind === "ready") return undefined;
  const isUnreachable = found.kind === "failed";
  const why = `${isUnreachable ? "cannot be verified: " : ""}${found.message}`;
  const message = `is not served until it is found, ${why}`;
  const { hint } = isUnreachable ? found : {};
  return { file, key: "", message, isPassing: true, ...(hint === undefined ? {} : { hint }) };
}

function openClient(
  { name }: Pick<AgentManifest, "name">,
  { address, access: { headers }, ca }: Pick<Upstream, "address" | "access" | "ca">,
  short: UpstreamPools,
  long: UpstreamPools,
): AcpClient {
  const connection = { address, headers, ca, credentialHint: credentialHint(name) };
  return new AcpClient({
    short: { ...connection, pools: short },
    long: { ...connection, pools: long },
  });
}

type Reached = Map<DependencyNode, { readonly fault: string | undefined }>;

function missingDependency(reached: Reached): AgentUnavailable | undefined {
  const failed = [...reached].find(([, { fault }]) => fault !== undefined);
  if (failed === undefined) return undefined;
  const [{ name }, { fault }] = failed;
  const message = `its dependency ${JSON.stringify(name)} fails: ${fault}`;
  return { kind: "unavailable", message };
}

/** Verifies every dependency that is a service, each once. */
async function reachAll(
  nodes: readonly DependencyNode[],
  settings: AgntcyConfig,
  parent: Upstream,
  context: ConnectionContext,
): Promise<Reached> {
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

/** Returns the reason that a dependency is unusable, or undefined. */
async function reach(
  { choice, located, ref }: DependencyNode,
  { allowHttp }: AgntcyConfig,
  { ca }: Upstream,
  { pools, env, closing }: ConnectionContext,
): Promise<string | undefined> {
  if (choice?.kind !== "callable" || located === undefined || pools === undefined) return undefined;
  const { service } = choice;
  const access = readAccess(ref.name, env, service.authentication);
  const read = readAddress(service.url, allowHttp);
  if (read.fault !== undefined) return `its address ${read.fault}`;
  if (access.faults.length > 0) return access.faults.join("; ");
  const client = openClient(ref, { address: read.address, access, ca }, pools.short, pools.short);
  const agentId = access.agentId ?? service.agentId;
  const found = await briefly(closing, (signal) =>
    verifyAgent(client, located.manifest, agentId, signal),
  );
  if (found.kind === "ready") return undefined;
  const { hint } = found.kind === "failed" ? found : {};
  return hint === undefined ? found.message : `${found.message} (${hint})`;
}

function briefly<T>(closing: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return within({ signals: [closing], timeoutMs: VERIFICATION_MS }, work);
}
