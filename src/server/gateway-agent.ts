/**
 * Whom the HTTP sidecar speaks as: the agent that the operator names, else one that the server issues
 * for it, which holds no scope.   AGTP "HTTP Gateway"
 */
import type { KeyObject } from "node:crypto";
import { relative } from "node:path";
import type { Config } from "../config/config.ts";
import type { AgentDocument } from "../identity/agent-document.ts";
import type { Problem } from "../problem.ts";
import { openIssuedAgent } from "./issued-agents.ts";

/** The agent, or why there is none. */
export interface GatewayAgent {
  /** Undefined without a sidecar, and with a problem. */
  readonly agent: AgentDocument | undefined;
  /** Whether no file of the operator's declares it. */
  readonly isIssued: boolean;
  readonly problems: readonly Problem[];
  /** Keeps an agent that was issued. */
  keep(): readonly Problem[];
}

/** The name of the agent that is issued. */
export const ISSUED_NAME = "http-gateway";

const NOTHING = { isIssued: false, problems: [], keep: () => [] };

/** Finds the agent among those that were loaded, or issues it. Writes nothing before `keep`. */
export function openGatewayAgent(
  config: Config,
  signingKey: KeyObject | undefined,
  documents: readonly AgentDocument[],
): GatewayAgent {
  const { gateway } = config;
  if (!gateway.enabled) return { ...NOTHING, agent: undefined };
  const name = gateway.agent ?? ISSUED_NAME;
  const named =
    documents.find(({ agentId }) => agentId === name) ??
    documents.find((document) => document.name === name);
  if (gateway.agent !== undefined && named !== undefined) return { ...NOTHING, agent: named };
  if (gateway.agent !== undefined) return refuse(config, `no agent is called "${name}"`);
  if (named !== undefined) {
    // Nobody said that HTTP clients may act with what this one is granted.
    return refuse(config, `is required, because ${named.file} has the name of the issued agent`);
  }
  const issued = openIssuedAgent(config, {
    name,
    description: `Speaks for the HTTP clients of ${config.server.serverId}.`,
    signingKey,
  });
  return { ...issued, agent: issued.document, isIssued: true };
}

function refuse({ directory, file }: Config, message: string): GatewayAgent {
  const problem: Problem = { file: relative(directory, file), key: "gateway.agent", message };
  return { ...NOTHING, agent: undefined, problems: [problem] };
}
