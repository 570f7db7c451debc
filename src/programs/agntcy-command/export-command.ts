/** `agtp-agntcy export`: writes the OASF record of an agent that a deployment hosts. */
import { relative, resolve } from "node:path";
import type { Config } from "../../app/config/config.ts";
import { loadConfig } from "../../app/config/load.ts";
import { isError, type Problem } from "../../base/problem.ts";
import { loadAgents } from "../../identity/load-agents.ts";
import { readManifest } from "../../modules/agntcy/manifest/read-manifest.ts";
import { loadPacks, readPackKeys } from "../../modules/openwop/packs/load-packs.ts";
import { Capabilities } from "../../modules/openwop/packs/peer-capabilities.ts";
import { type Command, CommandRefusal, command, usage } from "../shell/command.ts";
import { printProblems } from "../shell/findings.ts";
import { jsonText } from "../shell/print-json.ts";
import { serverUri } from "../shell/read-config.ts";
import { writeOutput } from "../shell/write-files.ts";
import {
  agntcyAgents,
  authorsOf,
  buildRecord,
  type Candidate,
  type ExportedAgent,
  type ExportOptions,
} from "./build-record.ts";

export const exportCommand: Command = command({
  name: "export",
  description: "Writes the OASF record of an agent that a deployment hosts.",
  args: { "<agent>": "its name or Agent-ID, or the path that it is served on" },
  options: {
    "--config <file>": { help: "configuration of the deployment", default: "agtp-server.toml" },
    "-o, --output <file>": "where the record goes; default: standard output",
    "--upstream": "show the ACP servers behind the agent in its deployment options",
    "--force": "replace a file that is there",
  },
  run: ({ agent, config: file, upstream = false, ...written }, terminal) => {
    const path = resolve(terminal.directory, file);
    const { config, problems, environment } = loadConfig(path, terminal.environment);
    printProblems(problems, terminal.err);
    if (config === undefined) throw usage(`${JSON.stringify(file)} cannot be used`);
    const found = findHostedAgent(agent, config, { environment, showsUpstream: upstream });
    printProblems(found.problems, terminal.err);
    if (found.agent === undefined) {
      const known = found.known.length === 0 ? "it hosts none" : `known: ${found.known.join(", ")}`;
      throw new CommandRefusal(`the deployment hosts no agent ${JSON.stringify(agent)}; ${known}`);
    }
    const record = buildRecord(found.agent, new Date());
    const text = jsonText(record);
    if (found.agent.options.length === 0) {
      const why = "the record has no deployment option: it is reached over AGTP, which has none";
      terminal.err.write(`agtp-agntcy: warning: ${why}\n`);
    }
    const faults = readManifest(text, agent).problems.filter(isError);
    if (faults.length > 0) {
      printProblems(faults, terminal.err);
      throw new CommandRefusal("the agent cannot be described as an OASF record");
    }
    writeOutput(text, written, terminal);
    return true;
  },
});

/** Finds the agent; if none is named, lists the names of those that exist. */
function findHostedAgent(
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
const NOTHING = { skills: [], options: [], environment: [], dependencies: [], locators: [] };

function openwopAgents(config: Config): readonly Candidate[] {
  const { packsDir, installScope, satisfied, requireSignatures, trustedKeys, tenant } =
    config.openwop;
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
      ...NOTHING,
      uri: `${serverUri(config)}/agents/${agent.agentId}`,
      method: "EXECUTE",
    }),
  }));
}

/** No issuers are trusted here, because a record only repeats what the documents state. */
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
        ...NOTHING,
        authors: [agent.principal],
        specs: {
          capabilities: NO_CAPABILITIES,
          input: ANYTHING,
          output: ANYTHING,
          config: ANYTHING,
        },
        uri: `${serverUri(config)}/${agent.agentId}`,
        method: "DESCRIBE",
        ...(typeof issuedAt === "string" ? { createdAt: issuedAt } : {}),
      };
    },
  }));
}
