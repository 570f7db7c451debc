/**
 * Loads the agents that this server knows: each `*.agent.json` of the agents directory with the
 * `*.genesis.json` of the same stem, in the order of their names. A document with a problem, or
 * with a Genesis that fails a check, is not served; the others are.
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

/** The directory to read, and the issuers whose signatures count. */
interface AgentsLocation {
  /** The deployment directory, absolute. */
  readonly directory: string;
  /** Absolute, or relative to the deployment directory. */
  readonly agentsDir: string;
  readonly trustedIssuers: readonly Ed25519PublicKey[];
}

/** The agents that can be served, and the problems of the others. */
export interface LoadedAgents {
  readonly documents: readonly AgentDocument[];
  readonly problems: readonly Problem[];
}

const DOCUMENT = ".agent.json";
const GENESIS = ".genesis.json";

/** Loads every identity document; only the default directory may be absent. */
export function loadAgents(location: AgentsLocation): LoadedAgents {
  return atOnce(loadingAgents(location));
}

/** Loads agents; each file is one step. */
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

/** Geneses by stem; an unreadable one is listed with its problem, so that its document is not served. */
function* loadingGeneses(location: AgentsLocation): Paced<ReadonlyMap<string, GenesisFile>> {
  const { files, problems } = yield* readFiles(location, GENESIS);
  const geneses = new Map<string, GenesisFile>();
  for (const problem of problems) {
    // Faults of the directory itself are reported with the documents.
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

/** The problem of a document whose Genesis fails a check: one of the two was altered. */
function checkGenesis(file: string, beside: GenesisFile | undefined): readonly Problem[] {
  const failed = beside?.problems.find(isError);
  if (failed === undefined) return [];
  return [{ file, key: "", message: `is not served, its Genesis fails: ${formatProblem(failed)}` }];
}

function loneGenesis(stem: string): Problem {
  const message = `has no identity document ${quoteValue(stem + DOCUMENT)}`;
  return { file: stem + GENESIS, key: "", message, severity: "warning" };
}

/** Agent-IDs and names in use; the first file with one keeps it. */
class Claims {
  readonly #byId = new Map<string, AgentDocument>();
  readonly #byName = new Map<string, AgentDocument>();

  /** Claims a document's Agent-ID and name, or returns problems and claims neither. */
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
