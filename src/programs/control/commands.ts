/** `agtpd status`, `nodes`, `reload` and `stop`: what is asked of a daemon that runs. */
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import { formatProblem, isError, type Problem } from "../../base/problem.ts";
import { type Command, command } from "../shell/command.ts";
import { printJson } from "../shell/findings.ts";
import { defuseLine, type Terminal } from "../shell/terminal.ts";
import { askDaemon } from "./ask-daemon.ts";

/** The option that says which daemon is asked. */
export const CONFIG = {
  help: "configuration file of the daemon",
  default: "agtp-server.toml",
} as const;
/** Shown behind the options of each of these commands. */
export const NOTES = `
The daemon is asked over .agtp/control.sock beside its configuration, by the user that runs it.

Exit codes: 0 done, 1 no daemon runs there or it refuses, 2 the command line is wrong.`;

/** How the daemon is. */
export function statusCommand(): Command {
  return command({
    name: "agtpd status",
    description: "Says how the daemon of a deployment is.",
    options: { "--config <file>": CONFIG, "--json": "print JSON" },
    notes: NOTES,
    run: async ({ config, json = false }, terminal) => {
      const status = await askDaemon({ command: "status", config }, terminal);
      if (json) printJson(status, terminal.out);
      else for (const line of statusLines(status)) terminal.out.write(`${line}\n`);
      return status["ready"] === true;
    },
  });
}

/** Reads the deployment again, and says what came of it. */
export function reloadCommand(): Command {
  return command({
    name: "agtpd reload",
    description: "Has the daemon read its deployment again; any error, and nothing changes.",
    options: { "--config <file>": CONFIG },
    notes: NOTES,
    run: async ({ config }, terminal) => {
      const { reloaded, problems } = await askDaemon({ command: "reload", config }, terminal);
      printProblems(problems, terminal);
      terminal.err.write(reloaded === true ? "reloaded\n" : "nothing changed\n");
      return reloaded === true;
    },
  });
}

/** Drains the daemon, and waits for its end. */
export function stopCommand(): Command {
  return command({
    name: "agtpd stop",
    description: "Has the daemon answer what it was asked, and end.",
    options: { "--config <file>": CONFIG },
    notes: NOTES,
    run: async ({ config }, terminal) => {
      await askDaemon({ command: "stop", config }, terminal);
      terminal.err.write("stopped\n");
      return true;
    },
  });
}

/** The lines for people: what is there, and then what is wrong. */
function statusLines(status: JsonRecord): readonly string[] {
  const { problems, ...facts } = status;
  const known = Object.entries(facts).filter(([, value]) => value !== null);
  return [
    ...known.map(([name, value]) => `${name.padEnd(18)}${defuseLine(String(value))}`),
    ...problemsIn(problems).map((problem) => defuseLine(describeProblem(problem))),
  ];
}

function printProblems(problems: unknown, { err }: Terminal): void {
  for (const problem of problemsIn(problems))
    err.write(`${defuseLine(describeProblem(problem))}\n`);
}

function problemsIn(problems: unknown): readonly Problem[] {
  return Array.isArray(problems) ? problems.filter(isProblem) : [];
}

function isProblem(value: unknown): value is Problem {
  return isRecord(value) && typeof value["file"] === "string" && typeof value["key"] === "string";
}

function describeProblem(problem: Problem): string {
  return isError(problem) ? formatProblem(problem) : `warning: ${formatProblem(problem)}`;
}
