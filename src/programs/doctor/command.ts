/**
 * `agtpd doctor`: examines a deployment. The exit code is 0 without a finding beyond notes, 1 with
 * one, 2 when the deployment, or a question without which nothing was found, could not be read.
 */
import { resolve } from "node:path";
import type { Environment } from "../../base/environment.ts";
import { formatProblem, isError, type Problem } from "../../base/problem.ts";
import { defuseLine, type Terminal } from "../shell/terminal.ts";
import { CHECKS } from "./checks.ts";
import { parseCommandLine } from "./command-line.ts";
import { type Machine, thisMachine } from "./machine.ts";
import { printExamination } from "./report.ts";
import { type Examination, runChecks } from "./run-checks.ts";
import { loadSubject } from "./subject.ts";

/** Runs the command and answers its exit code. */
export function runDoctorCommand(
  args: readonly string[],
  terminal: Terminal,
  environment: Environment,
  machine: Machine = thisMachine(),
): number {
  const line = parseCommandLine(args, terminal);
  if (line.kind === "end") return line.exitCode;
  const { config, host, json = false } = line;
  const loaded = loadSubject({
    configPath: resolve(terminal.directory, config),
    overrides: host === undefined ? {} : { host },
    environment,
    machine,
  });
  if (loaded.subject === undefined) {
    printProblems(loaded.problems, json, terminal);
    return 2;
  }
  const examination = runChecks(loaded.subject, CHECKS);
  printExamination(examination, config, json, terminal);
  return exitCodeOf(examination);
}

function exitCodeOf({ findings, unasked }: Examination): number {
  if (findings.some(({ severity }) => severity !== "note")) return 1;
  return unasked.length === 0 ? 0 : 2;
}

function printProblems(problems: readonly Problem[], json: boolean, { out, err }: Terminal): void {
  for (const problem of problems) {
    const word = isError(problem) ? "" : "warning: ";
    err.write(`agtpd doctor: ${word}${defuseLine(formatProblem(problem))}\n`);
  }
  if (json) out.write(`${JSON.stringify({ ok: false, problems }, undefined, 2)}\n`);
}
