/**
 * The agent that the HTTP sidecar speaks as: the one that the operator names, or else one that the server issues like
 * its other hosted agents, without scopes.   AGTP "HTTP Gateway"
 */
import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { readBoundedFile } from "../../base/bounded-file.ts";
import { type JsonRecord, parseRecord } from "../../base/json-value.ts";
import { atOnce } from "../../base/paced.ts";
import type { Problem } from "../../base/problem.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import {
  type HostedAgent,
  identifyHosted,
  openHostedIdentities,
} from "../../state/registers/hosted-identity.ts";
import type { GatewayContext, GatewaySections } from "./config.ts";

/** The chosen agent: none, an operator's, an issued one, or a configuration problem. */
type GatewayChoice =
  | { readonly kind: "none" | "issued" }
  | { readonly kind: "named"; readonly agent: AgentDocument }
  | { readonly kind: "refused"; readonly problem: Problem };

interface IssuedGatewayAgent {
  readonly agent: AgentDocument | undefined;
  readonly problems: readonly Problem[];
  /** Stores the agent's identity; to be awaited before anything is served. */
  keep(): Promise<void>;
}

/** The name of the issued agent, and the key of its stored identity. */
const ISSUED_NAME = "http-gateway";

const MAX_BYTES = 65_536;

/** Chooses the agent from the operator's documents. */
export function chooseGatewayAgent(
  config: GatewaySections,
  documents: readonly AgentDocument[],
): GatewayChoice {
  const { gateway } = config;
  if (!gateway.enabled) return { kind: "none" };
  const name = gateway.agent ?? ISSUED_NAME;
  const agent =
    documents.find(({ agentId }) => agentId === name) ??
    documents.find((document) => document.name === name);
  if (gateway.agent !== undefined && agent !== undefined) return { kind: "named", agent };
  if (gateway.agent !== undefined) {
    const found = documents.map((document) => document.name).join(", ") || "none";
    const way = `agents here: ${found}; without the key the server issues one`;
    return refuse(config, `no agent is called "${name}" (${way})`);
  }
  if (agent === undefined) return { kind: "issued" };
  // The operator has not said that HTTP clients may use this agent's scopes.
  return refuse(config, `is required, because ${agent.file} has the name of the issued agent`);
}

/** Returns the stored agent, or a new one. Writes nothing before `keep`. */
export async function issueGatewayAgent({
  config,
  signingKey,
  once,
}: Pick<GatewayContext, "config" | "signingKey" | "once">): Promise<IssuedGatewayAgent> {
  const { serverId, operator } = config.server;
  const inherited = readInherited(config);
  if (inherited.problem !== undefined) {
    const keep = (): Promise<void> => Promise.resolve();
    return { agent: undefined, problems: [inherited.problem], keep };
  }
  const agent: HostedAgent = {
    ...{ key: ISSUED_NAME, name: ISSUED_NAME, scopes: [], file: inherited.file },
    description: `Speaks for the HTTP clients of ${serverId}.`,
    ...(inherited.genesis === undefined ? {} : { genesis: inherited.genesis }),
  };
  const issuer = { serverId, operator, signingKey };
  const among = { openKept: () => once(openHostedIdentities), known: [], drive: atOnce };
  const identities = await identifyHosted([agent], issuer, among);
  const { documents, problems } = identities;
  return { agent: documents.get(agent.key), problems, keep: () => identities.keep() };
}

interface Inherited {
  /** Relative to the deployment directory. */
  readonly file: string;
  readonly genesis?: JsonRecord;
  readonly problem?: Problem;
}

/**
 * Earlier versions kept the agent as a Genesis and a document below `.agtp/agents`. It stays that agent, with its
 * Agent-ID and chain. The files are read and left in place.
 */
function readInherited({ directory }: GatewaySections): Inherited {
  const stem = join(directory, ".agtp", "agents", ISSUED_NAME);
  const path = `${stem}.genesis.json`;
  const file = relative(directory, path);
  if (!existsSync(path) && !existsSync(`${stem}.agent.json`)) return { file };
  const { text, fault: message } = readBoundedFile(path, MAX_BYTES);
  if (text === undefined) return { file, problem: { file, key: "", message } };
  const genesis = parseRecord(text);
  if (genesis !== undefined) return { file, genesis };
  return { file, problem: { file, key: "", message: "must be a JSON object" } };
}

function refuse({ directory, file }: GatewaySections, message: string): GatewayChoice {
  const problem = { file: relative(directory, file), key: "gateway.agent", message };
  return { kind: "refused", problem };
}
