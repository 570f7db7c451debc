/**
 * Finds an agent with its server, by its id or by its name and version, and compares what the server
 * says of it with its manifest. An agent that is not there, or is another one, is not served.
 */
import type { AcpClient } from "../acp/acp-client.ts";
import type { AgentManifest } from "../manifest/manifest.ts";
import type { Readiness } from "../remote-agent.ts";
import { compareDescriptor } from "./compare-descriptor.ts";

const MAX_DIFFERENCES = 8;

/** The agent's id with its server, or why it cannot be relied on. */
export async function verifyAgent(
  client: AcpClient,
  manifest: AgentManifest,
  knownId: string | undefined,
  signal: AbortSignal,
): Promise<Readiness> {
  const found = await findAgent(client, manifest, knownId, signal);
  if (found.kind !== "ready") return found;
  const { agentId } = found;
  const descriptor = await client.descriptor(agentId, signal);
  if (descriptor.kind === "failed") {
    return descriptor.status === 404 ? missing(`the agent ${JSON.stringify(agentId)}`) : descriptor;
  }
  const differences = compareDescriptor(manifest, descriptor.value);
  if (differences.length === 0) return found;
  const named = differences.slice(0, MAX_DIFFERENCES).join("; ");
  const message = `the agent's server describes it otherwise than its manifest: ${named}`;
  return { kind: "unavailable", message };
}

async function findAgent(
  client: AcpClient,
  { name, version }: AgentManifest,
  knownId: string | undefined,
  signal: AbortSignal,
): Promise<Readiness> {
  if (knownId !== undefined) return { kind: "ready", agentId: knownId };
  const found = await client.searchAgents(name, version, signal);
  if (found.kind === "failed") return found.status === 404 ? missing(`${name} ${version}`) : found;
  // The first that is returned counts; one that says it is another does not.
  const agent = found.value.find(
    (one) => (one.name ?? name) === name && (one.version ?? version) === version,
  );
  return agent === undefined
    ? missing(`${name} ${version}`)
    : { kind: "ready", agentId: agent.agentId };
}

function missing(what: string): Readiness {
  return { kind: "unavailable", message: `the agent's server does not have ${what}` };
}
