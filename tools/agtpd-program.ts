/** The command line of `agtpd`: options of the daemon, or a command. */
import { LOG_LEVELS, type LogLevel } from "../src/base/log-level.ts";
import { type Command, command } from "../src/programs/shell/command.ts";
import { InvalidValue } from "../src/programs/shell/run-program.ts";
import type { Terminal } from "../src/programs/shell/terminal.ts";
import { otherPrograms } from "./other-programs.ts";
import { openQuestions } from "./process-questions.ts";

const NOTES = `
Examples:
  agtpd init shop                                a new deployment, in shop/
  agtpd --config shop/agtp-server.toml
  agtpd --config shop/agtp-server.toml --watch   the same, reloaded whenever a file of it changes
  agtpd --config shop/agtp-server.toml --check --json
  agtpd status --config shop/agtp-server.toml    the status of the daemon that runs there

SIGHUP and "agtpd reload" read the deployment again, SIGTERM, SIGINT and "agtpd stop" drain and stop.

Exit codes: 0 stopped, or nothing to complain of; 1 it does not start, or --check found errors;
2 the command line is wrong, or there is no configuration to read.`;

const OPTIONS = {
  "--config <file>": { help: "configuration file", default: "agtp-server.toml" },
  "--host <host>": "address to listen on, instead of [server] host",
  "--port <number>": { help: "port to listen on, instead of [server] port", parse: parsePort },
  "--watch": "reload whenever a file of the deployment changes",
  "--check": "load everything, print every problem, start nothing",
  "--inspect-only":
    "serve the console alone, read-only, over a journal that keeps a daemon from starting",
  "--json": "with --check: print the problems as JSON",
  "--log-level <level>": {
    help: "least important line to log",
    choices: LOG_LEVELS,
    default: "info",
  },
} as const;

/** The command line, as written. */
export interface DaemonLine {
  readonly config: string;
  readonly host?: string;
  readonly port?: number;
  readonly watch?: boolean;
  readonly check?: boolean;
  readonly inspectOnly?: boolean;
  readonly json?: boolean;
  readonly logLevel: LogLevel;
}

/** Creates the program. Its commands and the daemon are loaded when they are called. */
export function daemonProgram(
  run: (line: DaemonLine, terminal: Terminal) => Promise<undefined>,
): Command {
  return command({
    name: "agtpd",
    description: "The AGTP daemon: serves endpoints to agents over TLS 1.3.",
    options: OPTIONS,
    notes: NOTES,
    programs: [
      { name: "init", description: "make a new deployment: agtpd init DIR", load: loadInit },
      {
        name: "doctor",
        description: "say what a careful operator would look at",
        load: async () => (await import("../src/programs/doctor/command.ts")).doctorCommand(),
      },
      {
        name: "status",
        description: "show the status of a deployment's daemon",
        load: async () => (await control()).statusCommand,
      },
      {
        name: "nodes",
        description: "list the processes that serve a deployment",
        load: async () => (await control()).nodesCommand,
      },
      {
        name: "reload",
        description: "have the daemon read its deployment again",
        load: async () => (await control()).reloadCommand,
      },
      {
        name: "stop",
        description: "stop the daemon once it has answered what it was asked",
        load: async () => (await control()).stopCommand,
      },
      {
        name: "state",
        description: "move what a deployment keeps to a file, and back",
        load: async () => (await import("../src/programs/state/command.ts")).stateCommand(),
      },
      {
        name: "client",
        description: "send a request to a server: the same as agtp",
        load: async () => (await import("../src/programs/agtp/command.ts")).agtpProgram,
      },
      {
        name: "schema",
        description: "print the JSON Schema of a file of a deployment",
        load: async () => (await import("../src/programs/editors/schema-files.ts")).schemaCommand,
      },
      {
        name: "completion",
        description: "print completions for bash, zsh or fish",
        load: async () => {
          const { completionCommand } = await import(
            "../src/programs/editors/completion-command.ts"
          );
          return completionCommand(async () => [daemonProgram(run), ...(await otherPrograms())]);
        },
      },
      {
        name: "login",
        description: "print a link to the console",
        load: async () => (await control()).loginCommand,
      },
      {
        name: "passkeys",
        description: "list the passkeys of people at the console, or forget a person's",
        load: async () => (await control()).passkeysCommand,
      },
    ],
    run,
  });
}

const control = () => import("../src/programs/control-commands.ts");

async function loadInit(): Promise<Command> {
  const { initCommand } = await import("../src/programs/init/command.ts");
  return initCommand(openQuestions);
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new InvalidValue("a port is a number from 0 to 65535");
}
