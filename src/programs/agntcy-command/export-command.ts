/** `agtp-agntcy export`: the OASF record of an agent that a deployment hosts. */
import { resolve } from "node:path";
import { loadConfig } from "../../app/config/load.ts";
import type { Environment } from "../../base/environment.ts";
import { formatProblem, isError, type Problem } from "../../base/problem.ts";
import { readManifest } from "../../modules/agntcy/manifest/read-manifest.ts";
import { usage } from "../shell/command-file.ts";
import { CommandRefusal } from "../shell/command-refusal.ts";
import { defuseLine, type Terminal } from "../shell/terminal.ts";
import { writeFiles } from "../shell/write-files.ts";
import { buildRecord } from "./build-record.ts";
import type { ExportLine } from "./command-line.ts";
import { findHostedAgent } from "./find-hosted-agent.ts";

/** Writes the record, or throws why there is none. */
export function runExport(
  { agent, config: file, output, upstream = false, force = false }: ExportLine,
  terminal: Terminal,
  environment: Environment,
): void {
  const { config, problems } = loadConfig(resolve(terminal.directory, file), environment);
  tell(problems, terminal);
  if (config === undefined) throw usage(`${JSON.stringify(file)} cannot be used`);
  const found = findHostedAgent(agent, config, { environment, showsUpstream: upstream });
  tell(found.problems, terminal);
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
    tell(faults, terminal);
    throw new CommandRefusal("the agent cannot be described as an OASF record");
  }
  if (output === undefined) terminal.out.write(text);
  else writeFiles(terminal.directory, [{ path: output, content: text, isSecret: false }], force);
}

/** What is exported is read back, as `validate` reads it. */
function checkRecord(text: string, name: string): readonly Problem[] {
  return readManifest(text, name).problems.filter(isError);
}

function tell(problems: readonly Problem[], { err }: Terminal): void {
  for (const problem of problems) {
    err.write(`${isError(problem) ? "" : "warning: "}${defuseLine(formatProblem(problem))}\n`);
  }
}
