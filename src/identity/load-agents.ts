/**
 * Loads the agents that this server knows: every `*.agent.json` of the agents directory, in the
 * order of their names. A document with a problem is not served; the others are.
 * AGTP "Agent Identity Document"
 */
import { readDeploymentFiles } from "../deployment-files.ts";
import { quoteValue } from "../json-value.ts";
import type { Problem } from "../problem.ts";
import type { AgentDocument } from "./agent-document.ts";
import { readAgentFile } from "./agent-file.ts";

/** Where to look. */
export interface AgentsLocation {
  /** The deployment directory, absolute. */
  readonly directory: string;
  /** Absolute, or relative to the deployment directory. */
  readonly agentsDir: string;
}

/** The agents that can be served, and what is wrong with the rest. */
export interface LoadedAgents {
  readonly documents: readonly AgentDocument[];
  readonly problems: readonly Problem[];
}

/** Loads every identity document; the directory may be absent where nobody configured another. */
export function loadAgents({ directory, agentsDir }: AgentsLocation): LoadedAgents {
  const { files, problems: unreadable } = readDeploymentFiles({
    directory,
    dir: agentsDir,
    defaultDir: "agents",
    suffix: ".agent.json",
    recursive: false,
  });
  const problems: Problem[] = [...unreadable];
  const claims = new Claims();
  const documents: AgentDocument[] = [];
  for (const { file, text } of files) {
    const { document, problems: found } = readAgentFile(text, file);
    const taken = document === undefined ? [] : claims.claim(document);
    problems.push(...found, ...taken);
    if (document !== undefined && taken.length === 0) documents.push(document);
  }
  return { documents, problems };
}

/** An Agent-ID or a name that two files claim belongs to the first of them. */
class Claims {
  readonly #byId = new Map<string, AgentDocument>();
  readonly #byName = new Map<string, AgentDocument>();

  /** What is wrong with the claim; a document that is taken in claims both, any other neither. */
  claim(document: AgentDocument): readonly Problem[] {
    const { agentId, name } = document;
    const problems = [
      ...checkClaim(document, "agent_id", agentId, this.#byId.get(agentId)),
      ...checkClaim(document, "name", name, this.#byName.get(name)),
    ];
    if (problems.length === 0) {
      this.#byId.set(agentId, document);
      this.#byName.set(name, document);
    }
    return problems;
  }
}

function checkClaim(
  { file }: AgentDocument,
  key: string,
  value: string,
  owner: AgentDocument | undefined,
): readonly Problem[] {
  if (owner === undefined) return [];
  return [{ file, key, message: `${quoteValue(value)} is already declared by ${owner.file}` }];
}
