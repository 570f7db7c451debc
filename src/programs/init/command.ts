/**
 * `agtpd init`: makes a new deployment that is ready to start. The exit code is 0 when it was made,
 * 2 when it was not, and then nothing is left behind.
 */
import { join, parse, resolve } from "node:path";
import { shellWord } from "../../base/shell-word.ts";
import { AGTP_PORT } from "../../client/uri.ts";
import { type Command, command, type Line, usage } from "../shell/command.ts";
import { printJson } from "../shell/print-json.ts";
import { defuse, defuseLine, type Terminal } from "../shell/terminal.ts";
import {
  type Answers,
  type Ask,
  DEFAULT_AGENT,
  type GivenAnswers,
  HANDLER_LANGUAGES,
  interview,
  type Questions,
} from "./answers.ts";
import { makeDeployment, type NewDeployment, writeDeployment } from "./new-deployment.ts";
import { lookAtPlace, type Place, placeDirectory } from "./place-directory.ts";
import { firstCommands } from "./readme-file.ts";
import { SERVER_FILE } from "./server-file.ts";
import { type Loss, readReference, type Translation } from "./translate-reference.ts";

const NOTES = `
Three questions are asked on a terminal; what a flag says is not asked, and with --yes nothing is.
Without a terminal, what no flag says is assumed, and told. With --from nothing is asked: the file says
it; there is no sample, and no agent unless --agent names one. What could not be translated is listed.

Examples:
  agtpd init shop
  agtpd init shop --yes
  agtpd init shop --server-id agents.acme.example --operator "Acme Retail" --agent lauren
  agtpd init shop --yes --no-agent --port 4490
  agtpd init shop --yes --handlers python
  agtpd init shop --from ../agtp/server/agtp-server.toml

Exit codes: 0 made, 2 nothing was written.`;

const ARGS = { "<dir>": "where; never one that has something in it" } as const;

/** If an option has two long names, it is read by the second. */
const OPTIONS = {
  "--name, --server-id <id>": "how agents know the server; default: of the directory",
  "--operator <name>": "who runs it",
  "--contact <text>": "where to reach them, such as an e-mail address",
  "--agent <name>": `a first agent, with Genesis and keys; default: ${DEFAULT_AGENT}`,
  "--no-agent": "no agent",
  "--port <number>": `port to listen on, on loopback; default: ${AGTP_PORT}`,
  "--handlers <language>": {
    help: "of the first handler: javascript (default) or python",
    words: HANDLER_LANGUAGES,
  },
  "--from <file>": "translate the agtp-server.toml of the reference implementation",
  "-y, --yes": "ask nothing",
  "--json": "print what was made as JSON",
} as const;

/** Creates the command; `open` returns undefined if nobody can be asked. */
export function initCommand(open?: () => Questions | undefined): Command {
  return command({
    name: "agtpd init",
    description: "Makes a new deployment that starts at once, in a directory that is empty or new.",
    args: ARGS,
    options: OPTIONS,
    notes: NOTES,
    run: async (line, terminal) => {
      const questions = open?.();
      try {
        await init(line, terminal, questions?.ask);
        return true;
      } finally {
        questions?.close();
      }
    },
  });
}

async function init(
  line: Line<typeof ARGS, typeof OPTIONS>,
  terminal: Terminal,
  ask: Ask | undefined,
): Promise<void> {
  if (line.dir === "") throw usage('expected a directory, got ""');
  const path = resolve(terminal.directory, line.dir);
  const place: Place = { path, written: line.dir, last: SERVER_FILE };
  // Checked before any question, in case the directory cannot be made.
  lookAtPlace(place);
  const found = line.from === undefined ? undefined : readReference(line.from, terminal);
  const given = found === undefined ? line : { ...saidBy(found), ...line };
  const interviewee = { ask: line.yes || found ? undefined : ask, err: terminal.err };
  const answers = await interview(given, path, interviewee);
  const deployment = makeDeployment(answers, found);
  placeDirectory(place, (directory) => writeDeployment(deployment, directory));
  const made = { path, answers, deployment, losses: found?.losses };
  if (line.json) printJson(asDocument(made), terminal.out);
  else terminal.out.write(asText(made, line.dir, wayOfCalling(terminal)));
}

interface Made {
  readonly path: string;
  readonly answers: Answers;
  readonly deployment: NewDeployment;
  /** Undefined if nothing was translated. */
  readonly losses: readonly Loss[] | undefined;
}

/** The answers that a translated configuration contains; no agent unless a flag names one. */
function saidBy({ serverId, operator, contact }: Translation): GivenAnswers {
  return {
    ...(serverId === undefined ? {} : { serverId }),
    ...(operator === undefined ? {} : { operator }),
    ...(contact === undefined ? {} : { contact }),
    agent: false,
  };
}

function asDocument({ path, answers, deployment: { files, agentId }, losses }: Made): object {
  const { start, tries } = firstCommands(answers, agentId);
  return {
    directory: path,
    server_id: answers.serverId,
    port: answers.port,
    agent: answers.agent ?? null,
    agent_id: agentId ?? null,
    files: files.map((file) => file.path).toSorted(),
    start,
    try: tries.map(({ command }) => command),
    not_translated: losses,
  };
}

/**
 * Returns how commands are written: as init was called, by npx or from a checkout, because programs
 * that are not installed are on no path, and "npx agtp" may be another package.
 */
function wayOfCalling({ environment, script }: Terminal): (command: string) => string {
  if (script !== undefined) {
    const { dir, ext } = parse(script);
    return (command) =>
      command.replace(/^\S+/, (name) => `node ${shellWord(defuse(join(dir, name + ext)))}`);
  }
  if (environment["npm_command"] !== "exec") return (command) => command;
  return (command) => `npx ${command.replace(/^agtp /, "agtpd client ")}`;
}

function asText(made: Made, written: string, called: (command: string) => string): string {
  const { answers, losses = [] } = made;
  const { files, agentId } = made.deployment;
  const { start, tries } = firstCommands(answers, agentId);
  const agent = agentId === undefined ? "no agent" : `agent ${answers.agent} (${agentId})`;
  const lines = [
    `made ${defuseLine(written)}: ${files.length} files, server ${answers.serverId}, ${agent}`,
    ...(losses.length === 0
      ? []
      : ["", `Not translated, ${losses.length} key${losses.length === 1 ? "" : "s"}:`]),
    ...losses.map(({ key, reason }) => `  ${defuseLine(key)}: ${reason}`),
    "",
    "Start it:",
    `  cd ${shellWord(defuse(written))}`,
    `  ${called(start)}`,
    "",
    "Try, in another terminal in the same directory:",
    ...tries.map(({ command }) => `  ${called(command)}`),
    "",
    "README.md has the rest.",
  ];
  return `${lines.join("\n")}\n`;
}
