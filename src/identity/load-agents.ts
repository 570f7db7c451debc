/**
 * Loads the agents that this server knows: every `*.agent.json` of the agents directory, in the
 * order of their names. A document with a problem is not served; the others are.
 * AGTP "Agent Identity Document"
 */
import { readdirSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { describeFileError, readBoundedFile } from "../bounded-file.ts";
import type { Problem } from "../problem.ts";
import type { AgentDocument } from "./agent-document.ts";
import { type AgentFile, readAgentFile } from "./agent-file.ts";

/** Where to look; both absolute. */
export interface AgentsLocation {
  /** The deployment directory, which file names in problems are relative to. */
  readonly directory: string;
  readonly agentsDir: string;
}

/** The agents that can be served, and what is wrong with the rest. */
export interface LoadedAgents {
  readonly documents: readonly AgentDocument[];
  readonly problems: readonly Problem[];
}

const SUFFIX = ".agent.json";
const MAX_BYTES = 1024 * 1024;

/** Loads every identity document; a missing directory is a server without agents. */
export function loadAgents(location: AgentsLocation): LoadedAgents {
  const documents: AgentDocument[] = [];
  const problems: Problem[] = [];
  const { names, fault } = listNames(location.agentsDir);
  if (fault !== undefined) {
    problems.push({ file: relativeName(location, location.agentsDir), key: "", message: fault });
  }
  for (const name of names) {
    const loaded = loadOne(location, name);
    problems.push(...loaded.problems);
    if (loaded.document === undefined) continue;
    const duplicates = findDuplicates(loaded.document, documents);
    problems.push(...duplicates);
    if (duplicates.length === 0) documents.push(loaded.document);
  }
  return { documents, problems };
}

function loadOne(location: AgentsLocation, name: string): AgentFile {
  const path = join(location.agentsDir, name);
  const file = relativeName(location, path);
  const read = readBoundedFile(path, MAX_BYTES);
  if (read.fault !== undefined) {
    return { document: undefined, problems: [{ file, key: "", message: read.fault }] };
  }
  return readAgentFile(read.text, file);
}

/** An Agent-ID or a name that two files claim belongs to the first of them. */
function findDuplicates(
  candidate: AgentDocument,
  documents: readonly AgentDocument[],
): readonly Problem[] {
  const { file } = candidate;
  return documents.flatMap((other) => {
    const problems: Problem[] = [];
    if (other.agentId === candidate.agentId) {
      const message = `"${candidate.agentId}" is already declared by ${other.file}`;
      problems.push({ file, key: "agent_id", message });
    }
    if (other.name === candidate.name) {
      const message = `${JSON.stringify(candidate.name)} is already declared by ${other.file}`;
      problems.push({ file, key: "name", message });
    }
    return problems;
  });
}

function listNames(directory: string): { names: readonly string[]; fault?: string } {
  try {
    // Sorted, so that the later of two duplicates is the same one on every machine.
    const names = readdirSync(directory).filter((name) => name.endsWith(SUFFIX));
    return { names: names.toSorted() };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT") return { names: [] };
    const fault = code === "ENOTDIR" ? "must be a directory" : describeFileError(error);
    return { names: [], fault };
  }
}

function relativeName({ directory }: AgentsLocation, path: string): string {
  return relative(directory, path).split(sep).join("/");
}
