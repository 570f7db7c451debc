/**
 * `agtpd init`: a new deployment that starts at once. The exit code is 0 when it was made, 2 when it
 * was not, and then nothing is left of it.
 */
import { resolve } from "node:path";
import { AgtpClientError } from "../../client/client-error.ts";
import { usage } from "../shell/command-file.ts";
import { defuseLine, type Terminal } from "../shell/terminal.ts";
import type { Answers } from "./answers.ts";
import { type InitCommandLine, parseCommandLine } from "./command-line.ts";
import { type Ask, interview } from "./interview.ts";
import { makeDeployment, type NewDeployment, writeDeployment } from "./new-deployment.ts";
import { lookAtPlace, type Place, placeDirectory } from "./place-directory.ts";
import { firstCommands } from "./readme-file.ts";
import { SERVER_FILE } from "./server-file.ts";

/** Runs the command; without `ask` nobody is there to answer questions. */
export async function runInitCommand(
  args: readonly string[],
  terminal: Terminal,
  ask?: Ask,
): Promise<number> {
  const line = parseCommandLine(args, terminal);
  if (line.kind === "end") return line.exitCode;
  try {
    await init(line, terminal, ask);
    return 0;
  } catch (error) {
    if (!(error instanceof AgtpClientError)) throw error;
    terminal.err.write(`agtpd init: ${defuseLine(error.message)}\n`);
    return 2;
  }
}

async function init(
  line: InitCommandLine,
  terminal: Terminal,
  ask: Ask | undefined,
): Promise<void> {
  if (line.directory === "") throw usage('expected a directory, got ""');
  const path = resolve(terminal.directory, line.directory);
  const place: Place = { path, written: line.directory, last: SERVER_FILE };
  // Nobody is asked about what cannot be made.
  lookAtPlace(place);
  const interviewee = { ask: line.yes ? undefined : ask, err: terminal.err };
  const answers = await interview(line, path, interviewee);
  const deployment = makeDeployment(answers);
  placeDirectory(place, (directory) => writeDeployment(deployment, directory));
  const made = { path, answers, deployment };
  terminal.out.write(line.json ? asJson(made) : asText(made, line.directory));
}

interface Made {
  readonly path: string;
  readonly answers: Answers;
  readonly deployment: NewDeployment;
}

function asJson({ path, answers, deployment: { files, agentId } }: Made): string {
  const { start, tries } = firstCommands(answers, agentId);
  const document = {
    directory: path,
    server_id: answers.serverId,
    port: answers.port,
    agent: answers.agent ?? null,
    agent_id: agentId ?? null,
    files: files.map((file) => file.path).toSorted(),
    start,
    try: tries.map(({ command }) => command),
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

function asText({ answers, deployment: { files, agentId } }: Made, written: string): string {
  const { start, tries } = firstCommands(answers, agentId);
  const agent = agentId === undefined ? "no agent" : `agent ${answers.agent} (${agentId})`;
  const lines = [
    `made ${defuseLine(written)}: ${files.length} files, server ${answers.serverId}, ${agent}`,
    "",
    "Start it:",
    `  cd ${shellWord(written)}`,
    `  ${start}`,
    "",
    "Try, in another terminal in the same directory:",
    ...tries.map(({ command }) => `  ${command}`),
    "",
    "README.md has the rest.",
  ];
  return `${lines.join("\n")}\n`;
}

/** A path as a shell takes it for one word. */
function shellWord(path: string): string {
  const word = defuseLine(path);
  return /^[\w./][\w./-]*$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
