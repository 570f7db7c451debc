/** `agtp-agntcy export`: the OASF record of an agent that a deployment hosts. */
import { resolve } from "node:path";
import { loadConfig } from "../../app/config/load.ts";
import { isError, type Problem } from "../../base/problem.ts";
import { readManifest } from "../../modules/agntcy/manifest/read-manifest.ts";
import { type Command, command } from "../shell/command.ts";
import { usage } from "../shell/command-file.ts";
import { CommandRefusal } from "../shell/command-refusal.ts";
import { printProblems } from "../shell/findings.ts";
import { writeFiles } from "../shell/write-files.ts";
import { buildRecord } from "./build-record.ts";
import { findHostedAgent } from "./find-hosted-agent.ts";

/** The command. */
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
  run: ({ agent, config: file, output, upstream = false, force = false }, terminal) => {
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
    const text = `${JSON.stringify(record, undefined, 2)}\n`;
    if (found.agent.options.length === 0) {
      const why = "the record has no deployment option: it is reached over AGTP, which has none";
      terminal.err.write(`agtp-agntcy: warning: ${why}\n`);
    }
    const faults = checkRecord(text, agent);
    if (faults.length > 0) {
      printProblems(faults, terminal.err);
      throw new CommandRefusal("the agent cannot be described as an OASF record");
    }
    if (output === undefined) terminal.out.write(text);
    else writeFiles(terminal.directory, [{ path: output, content: text, isSecret: false }], force);
    return true;
  },
});

/** Reads the record back, as `validate` does. */
function checkRecord(text: string, name: string): readonly Problem[] {
  return readManifest(text, name).problems.filter(isError);
}
