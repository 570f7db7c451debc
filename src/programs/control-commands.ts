/** `agtpd status`, `nodes`, `reload`, `stop`, `login` and `passkeys`: commands to a running daemon. */

import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { findDirectoryFault } from "../base/bounded-file.ts";
import { isRecord, type JsonRecord, parseRecord, recordsIn } from "../base/json-value.ts";
import { describeProblem, type Problem } from "../base/problem.ts";
import { codeOf, reasonOf } from "../base/thrown.ts";
import { askControl } from "../client/ask-control.ts";
import { controlPath, stateDirectory } from "../state/state-directory.ts";
import { findHolder } from "../state/state-lock.ts";
import { type Command, CommandRefusal, command, FileProblems } from "./shell/command.ts";
import { printProblems } from "./shell/findings.ts";
import { printJson } from "./shell/print-json.ts";
import { defuseLine, type Terminal } from "./shell/terminal.ts";

const CONFIG = {
  help: "configuration file of the daemon",
  default: "agtp-server.toml",
} as const;
/** Shown after the options of each of these commands. */
const NOTES = `
The daemon is asked over .agtp/control.sock beside its configuration, by the user that runs it.

Exit codes: 0 done, 1 no daemon runs there or it refuses, 2 the command line is wrong, or there is no
configuration.`;
const STATUS_NOTES = NOTES.replace("1 no daemon", "1 it is not ready, no daemon");

export const statusCommand: Command = command({
  name: "agtpd status",
  description: "Shows the status of a deployment's daemon.",
  options: { "--config <file>": CONFIG, "--json": "print JSON" },
  notes: STATUS_NOTES,
  run: async ({ config, json = false }, terminal) => {
    const status = await askDaemon({ command: "status", config }, terminal);
    if (json) printJson(status, terminal.out);
    else for (const line of statusLines(status)) terminal.out.write(`${line}\n`);
    return status["ready"] === true;
  },
});

/** Reloads the deployment, and prints the outcome. */
export const reloadCommand: Command = command({
  name: "agtpd reload",
  description: "Has the daemon read its deployment again; any error, and nothing changes.",
  options: { "--config <file>": CONFIG },
  notes: NOTES,
  run: async ({ config }, terminal) => {
    const { reloaded, problems } = await askDaemon({ command: "reload", config }, terminal);
    printProblems(problemsIn(problems), terminal.err);
    terminal.err.write(reloaded === true ? "reloaded\n" : "nothing changed\n");
    return reloaded === true;
  },
});

/** Drains the daemon, and waits until it has ended. */
export const stopCommand: Command = command({
  name: "agtpd stop",
  description: "Stops the daemon once it has answered what it was asked.",
  options: { "--config <file>": CONFIG },
  notes: NOTES,
  run: async ({ config }, terminal) => {
    await askDaemon({ command: "stop", config }, terminal);
    terminal.err.write("stopped\n");
    return true;
  },
});

/** The status for people, first facts and then problems. */
function statusLines(status: JsonRecord): readonly string[] {
  const { problems, ...facts } = status;
  const known = Object.entries(facts).filter(([, value]) => value !== null);
  const width = Math.max(...known.map(([name]) => name.length));
  return [
    ...known.map(([name, value]) => `${name.padEnd(width)}  ${defuseLine(String(value))}`),
    ...problemsIn(problems).map((problem) => defuseLine(describeProblem(problem))),
  ];
}

function problemsIn(problems: unknown): readonly Problem[] {
  return Array.isArray(problems) ? problems.filter(isProblem) : [];
}

function isProblem(value: unknown): value is Problem {
  return isRecord(value) && typeof value["file"] === "string" && typeof value["key"] === "string";
}

/** Prints a link to the console; only the button on its page uses the link up. */
export const loginCommand: Command = command({
  name: "agtpd login",
  description: "Prints a link to the console, good for one use and for five minutes.",
  options: {
    "--config <file>": CONFIG,
    "--role <role>": {
      help: "a viewer sees, an operator decides",
      choices: ["viewer", "operator"],
      default: "operator",
    },
    "--name <name>": "whom records name; the name of the system's user without it",
    "--json": "print JSON",
  },
  notes: NOTES,
  run: async ({ config, role, name, json = false }, terminal) => {
    const { USER, LOGNAME } = terminal.environment;
    const options = { role, name: name ?? USER ?? LOGNAME ?? "operator" };
    const answer = await askDaemon({ command: "login", options, config }, terminal);
    if (json) printJson(answer, terminal.out);
    else terminal.out.write(`${String(answer["url"])}\n`);
    return true;
  },
});

const COLUMNS = ["node", "state", "address", "version", "since", "lease_ms"];

/** Lists the processes that serve a deployment, one per line. */
export const nodesCommand: Command = command({
  name: "agtpd nodes",
  description: "Lists the processes that serve a deployment.",
  options: { "--config <file>": CONFIG, "--json": "print JSON" },
  notes: NOTES,
  run: async ({ config, json = false }, terminal) => {
    const { nodes } = await askDaemon({ command: "nodes", config }, terminal);
    const known = recordsIn(nodes);
    if (json) printJson(known, terminal.out);
    else for (const line of nodeLines(known)) terminal.out.write(`${line}\n`);
    return true;
  },
});

/** Formats a heading and the nodes in columns. */
function nodeLines(nodes: readonly JsonRecord[]): readonly string[] {
  const rows = [COLUMNS, ...nodes.map((node) => COLUMNS.map((name) => cell(node[name])))];
  const widths = COLUMNS.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((text, at) => text.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

function cell(value: unknown): string {
  return value === null || value === undefined ? "-" : defuseLine(String(value));
}

/** Lists the console's passkeys, or removes those of a person who has lost theirs. */
export const passkeysCommand: Command = command({
  name: "agtpd passkeys",
  description: "Lists the passkeys of people at the console, or forgets a person's.",
  options: {
    "--config <file>": CONFIG,
    "--forget <person>": "forgets the passkeys of a person, such as link:nina, who then has none",
    "--json": "print JSON",
  },
  notes: NOTES,
  run: async ({ config, forget, json = false }, terminal) => {
    const options = forget === undefined ? {} : { forget };
    const answer = await askDaemon({ command: "passkeys", options, config }, terminal);
    if (json) printJson(answer, terminal.out);
    else for (const line of passkeyLines(answer)) terminal.out.write(`${defuseLine(line)}\n`);
    return true;
  },
});

function passkeyLines({ passkeys }: JsonRecord): readonly string[] {
  const known = recordsIn(passkeys);
  if (known.length === 0) return ["nobody has a passkey"];
  return known.map(({ person, name, created_at, used_at }) => {
    const used = used_at === null ? "not used" : `used ${String(used_at)}`;
    return `${String(person)}: ${String(name)}, registered ${String(created_at)}, ${used}`;
  });
}

interface DaemonQuestion {
  readonly command: string;
  readonly options?: JsonRecord;
  /** The path of the configuration file, as written. */
  readonly config: string;
}

/** A person is told of an answer that takes longer, such as one that a hung worker delays. */
const LONG_MS = 3_000;

/**
 * Sends a command to the daemon, and returns the result.
 * @throws CommandRefusal if no daemon runs, or it refuses
 * @throws AgtpClientError if the configuration does not exist or is a directory
 */
export async function askDaemon(
  { command, options = {}, config }: DaemonQuestion,
  { directory, err }: Pick<Terminal, "directory"> & Partial<Pick<Terminal, "err">>,
): Promise<JsonRecord> {
  const file = resolve(directory, config);
  // The control path is the directory's, so a wrong file name could reach another deployment's daemon.
  if (findDirectoryFault(file) === undefined) {
    throw new FileProblems([{ file: config, key: "", message: "must be a file, is a directory" }]);
  }
  if (!existsSync(file)) {
    const hint = "--config FILE names the deployment";
    throw new FileProblems([{ file: config, key: "", message: "does not exist", hint }]);
  }
  const path = controlPath(dirname(file));
  const question = JSON.stringify({ command, options });
  const announce = (): void => {
    if (err?.isTerminal === true) err.write(`the daemon of ${config} is still busy with it\n`);
  };
  const timer = setTimeout(announce, LONG_MS);
  const line = await askControl(path, question)
    .catch((error: unknown) => {
      throw new CommandRefusal(describe(error, config, findHolder(stateDirectory(dirname(file)))));
    })
    .finally(() => clearTimeout(timer));
  const answer = parseRecord(line) ?? {};
  if (answer["ok"] === true && isRecord(answer["result"])) return answer["result"];
  const message = answer["message"];
  throw new CommandRefusal(
    typeof message === "string" ? message : `the daemon of ${config} ended without an answer`,
  );
}

function describe(error: unknown, config: string, holder: string | undefined): string {
  switch (codeOf(error)) {
    case "ENOENT":
    case "ECONNREFUSED":
      if (holder !== undefined) {
        return `no daemon answers for ${config}: .agtp ${holder} (one that starts or ends is not to be asked)`;
      }
      return `no daemon runs for ${config} (agtpd starts one, --config FILE names another deployment)`;
    case "EACCES":
    case "EPERM":
      return `the daemon of ${config} is another user's`;
    default:
      return `the daemon of ${config} cannot be asked: ${reasonOf(error)}`;
  }
}
