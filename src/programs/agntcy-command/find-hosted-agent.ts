/**
 * Finds an agent among those that a deployment hosts, whatever system it comes from: AGNTCY agents by
 * their manifests, OpenWOP agents by their packs, and agents that are known by an identity document.
 */
import { relative } from "node:path";
import type { Config } from "../../app/config/config.ts";
import { isError, type Problem } from "../../base/problem.ts";
import { loadAgents } from "../../identity/load-agents.ts";
import { readPackKeys } from "../../modules/openwop/pack-keys.ts";
import { loadPacks } from "../../modules/openwop/packs/load-packs.ts";
import { Capabilities } from "../../modules/openwop/packs/peer-capabilities.ts";
import { readOpenwopSettings } from "../../modules/openwop/settings.ts";
import { agntcyAgents } from "./agntcy-agents.ts";
import type { ExportedAgent } from "./build-record.ts";
import { agtpUri, authorsOf, type Candidate, type ExportOptions } from "./candidate.ts";

/** The agent; without one, the names of those that there are. */
export function findHostedAgent(
  name: string,
  config: Config,
  options: ExportOptions,
): {
  readonly agent: ExportedAgent | undefined;
  readonly known: readonly string[];
  readonly problems: readonly Problem[];
} {
  const candidates = [
    ...agntcyAgents(config, options),
    ...openwopAgents(config),
    ...documentedAgents(config),
  ];
  const found = candidates.find(({ names }) => names.includes(name));
  const known = candidates.flatMap(({ names }) => names[0] ?? []);
  if (found === undefined) return { agent: undefined, known, problems: [] };
  const { problems } = found;
  return { agent: problems.some(isError) ? undefined : found.build(), known, problems };
}

const ANYTHING = { type: "object" };
const NO_CAPABILITIES = { threads: false, interrupts: false, callbacks: false };

function openwopAgents(config: Config): readonly Candidate[] {
  const { packsDir, installScope, satisfied, requireSignatures, trustedKeys, tenant } =
    readOpenwopSettings(config);
  const { keys } = readPackKeys(trustedKeys, relative(config.directory, config.file));
  const { packs } = loadPacks(
    { directory: config.directory, packsDir, installScope },
    {
      capabilities: new Capabilities(satisfied),
      signatures: { trustedKeys: keys, isRequired: requireSignatures },
      modelFault: () => undefined,
    },
  );
  const agents = packs
    .filter((pack) => pack.tenant === undefined || pack.tenant === tenant)
    .flatMap((pack) => pack.agents);
  return agents.map((agent) => ({
    names: [agent.agentId],
    problems: [],
    build: () => ({
      ...{ name: agent.agentId, version: agent.pack.version, authors: authorsOf(config) },
      description: agent.description ?? agent.persona,
      specs: {
        capabilities: NO_CAPABILITIES,
        input: agent.taskSchema?.schema ?? ANYTHING,
        output: agent.returnSchema?.schema ?? ANYTHING,
        config: ANYTHING,
      },
      ...{ skills: [], options: [], environment: [], dependencies: [], locators: [] },
      uri: agtpUri(config, `/agents/${agent.agentId}`),
      method: "EXECUTE",
    }),
  }));
}

/** Signatures do not matter to what a document says of itself. */
function documentedAgents(config: Config): readonly Candidate[] {
  const { documents } = loadAgents({
    directory: config.directory,
    agentsDir: config.agents.dir,
    trustedIssuers: [],
  });
  return documents.map((agent) => ({
    names: [agent.name, agent.agentId],
    problems: [],
    build: () => {
      const { issued_at: issuedAt, version = "1.0.0" } = agent.document;
      return {
        ...{ name: agent.name, version: String(version), description: agent.description },
        ...{ authors: [agent.principal], skills: [], options: [], environment: [] },
        ...{ dependencies: [], locators: [] },
        specs: {
          capabilities: NO_CAPABILITIES,
          input: ANYTHING,
          output: ANYTHING,
          config: ANYTHING,
        },
        uri: agtpUri(config, `/${agent.agentId}`),
        method: "DESCRIBE",
        ...(typeof issuedAt === "string" ? { createdAt: issuedAt } : {}),
      };
    },
  }));
}
