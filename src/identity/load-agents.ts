/**
 * Loads the agents that this server knows: every `*.agent.json` of the agents directory with the
 * `*.genesis.json` of the same stem, in the order of their names. A document with a problem, or with
 * a Genesis that fails a check, is not served; the others are.
 * AGTP "Agent Identity Document", AGTP-API §5.8.1
 */
import { type DeploymentFiles, readingFiles } from "../base/deployment-files.ts";
import { quoteValue } from "../base/json-value.ts";
import { atOnce, type Paced } from "../base/paced.ts";
import { formatProblem, isError, type Problem } from "../base/problem.ts";
import type { AgentDocument } from "./agent-document.ts";
import { readAgentFile } from "./agent-file.ts";
import type { Ed25519PublicKey } from "./ed25519.ts";
import { type GenesisFile, readGenesisFile } from "./genesis.ts";

/** The directory to look in, and the issuers whose signatures count. */
interface AgentsLocation {
  /** The deployment directory, absolute. */
  readonly directory: string;
  /** Absolute, or relative to the deployment directory. */
  readonly agentsDir: string;
  readonly trustedIssuers: readonly Ed25519PublicKey[];
}

/** The agents that can be served, and what is wrong with the rest. */
export interface LoadedAgents {
  readonly documents: readonly AgentDocument[];
  readonly problems: readonly Problem[];
}

const DOCUMENT = ".agent.json";
const GENESIS = ".genesis.json";

/** Loads every identity document; the directory may be absent where nobody configured another. */
export function loadAgents(location: AgentsLocation): LoadedAgents {
  return atOnce(loadingAgents(location));
}

/** Loads agents, a file a step. */
export function* loadingAgents(location: AgentsLocation): Paced<LoadedAgents> {
  const { trustedIssuers } = location;
  const { files, problems: unreadable } = yield* readFiles(location, DOCUMENT);
  const geneses = yield* loadingGeneses(location);
  const problems: Problem[] = [...unreadable];
  for (const { problems: found } of geneses.values()) problems.push(...found);
  const paired = new Set(unreadable.map(({ file }) => stemOf(file, DOCUMENT)));
  const claims = new Claims();
  const documents: AgentDocument[] = [];
  for (const { file, text } of files) {
    yield;
    const stem = stemOf(file, DOCUMENT);
    paired.add(stem);
    const beside = geneses.get(stem);
    const { document, problems: found } = readAgentFile(text, file, {
      genesis: beside?.genesis,
      trustedIssuers,
    });
    const refused = checkGenesis(file, beside);
    const taken = document === undefined || refused.length > 0 ? refused : claims.claim(document);
    problems.push(...found, ...taken);
    if (document !== undefined && taken.length === 0) documents.push(document);
  }
  for (const stem of geneses.keys()) if (!paired.has(stem)) problems.push(loneGenesis(stem));
  return { documents, problems };
}

function readFiles(
  { directory, agentsDir }: AgentsLocation,
  suffix: string,
): Paced<DeploymentFiles> {
  return readingFiles({
    directory,
    dir: agentsDir,
    defaultDir: "agents",
    suffix,
    recursive: false,
  });
}

/** By stem; one that cannot be read is there with its problem, so that its document is not served. */
function* loadingGeneses(location: AgentsLocation): Paced<ReadonlyMap<string, GenesisFile>> {
  const { files, problems } = yield* readFiles(location, GENESIS);
  const geneses = new Map<string, GenesisFile>();
  for (const problem of problems) {
    // Faults of the directory are reported with those of the documents.
    if (!problem.file.endsWith(GENESIS)) continue;
    geneses.set(stemOf(problem.file, GENESIS), { genesis: undefined, problems: [problem] });
  }
  for (const { file, text } of files) {
    yield;
    geneses.set(stemOf(file, GENESIS), readGenesisFile(text, file, location.trustedIssuers));
  }
  return geneses;
}

function stemOf(file: string, suffix: string): string {
  return file.slice(0, -suffix.length);
}

/** A birth record that fails a check says that somebody changed it, or the agent. */
function checkGenesis(file: string, beside: GenesisFile | undefined): readonly Problem[] {
  const failed = beside?.problems.find(isError);
  if (failed === undefined) return [];
  return [{ file, key: "", message: `is not served, its Genesis fails: ${formatProblem(failed)}` }];
}

function loneGenesis(stem: string): Problem {
  const message = `has no identity document ${quoteValue(stem + DOCUMENT)}`;
  return { file: stem + GENESIS, key: "", message, severity: "warning" };
}

/** An Agent-ID or a name that two files claim belongs to the first of them. */
class Claims {
  readonly #byId = new Map<string, AgentDocument>();
  readonly #byName = new Map<string, AgentDocument>();

  /** The fault of the claim; a document that is taken in claims both, any other neither. */
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
