/**
 * `agtpd doctor`: examines a deployment. The exit code is 0 without a finding beyond notes, 1 with
 * one, 2 when the deployment, or a question without which nothing was found, could not be read.
 */
import { resolve } from "node:path";
import { type Command, command } from "../shell/command.ts";
import { printJson, printProblems } from "../shell/findings.ts";
import { CHECKS } from "./checks.ts";
import { type Machine, thisMachine } from "./machine.ts";
import { printExamination } from "./report.ts";
import { type Examination, runChecks } from "./run-checks.ts";
import { loadSubject } from "./subject.ts";

const NOTES = `
Nothing is written, started or asked over the network. Problems for which a daemon would not start
are "agtpd --check"'s; with one of them there is nothing to look at.

Examples:
  agtpd doctor
  agtpd doctor --config /srv/shop/agtp-server.toml --json
  agtpd doctor --host 0.0.0.0          what would be wrong if it listened there

Exit codes: 0 nothing but notes, 1 there are errors or warnings, 2 it could not be asked.`;

/** The command, for the machine that it is asked on. */
export function doctorCommand(machine: Machine = thisMachine()): Command {
  return command({
    name: "agtpd doctor",
    description: "Says what a careful operator would look at, each with its remedy.",
    options: {
      "--config <file>": { help: "configuration file", default: "agtp-server.toml" },
      "--host <host>": "address to listen on, instead of [server] host",
      "--json": "print JSON",
    },
    notes: NOTES,
    run: ({ config, host, json = false }, terminal) => {
      const loaded = loadSubject({
        configPath: resolve(terminal.directory, config),
        overrides: host === undefined ? {} : { host },
        environment: terminal.environment,
        machine,
      });
      if (loaded.subject === undefined) {
        printProblems(loaded.problems, terminal.err, "agtpd doctor");
        if (json) printJson({ ok: false, problems: loaded.problems }, terminal.out);
        return 2;
      }
      const examination = runChecks(loaded.subject, CHECKS);
      printExamination(examination, config, json, terminal.out);
      return exitCodeOf(examination);
    },
  });
}

function exitCodeOf({ findings, unasked }: Examination): number {
  if (findings.some(({ severity }) => severity !== "note")) return 1;
  return unasked.length === 0 ? 0 : 2;
}
