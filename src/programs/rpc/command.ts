/**
 * `agtp-rpc`: the protocol on standard input and output, or one command of it. Results are JSON on
 * standard output; what went wrong is JSON on standard error, and the exit code is 1.
 */
import { reasonOf } from "../../base/thrown.ts";
import { createWorld } from "../../modules/agentcli/create-world.ts";
import { serveProtocol } from "../../modules/agentcli/protocol/serve.ts";
import { type Command, command } from "../shell/command.ts";
import { defuseLine, type Terminal } from "../shell/terminal.ts";
import { CALL_COMMANDS } from "./call-commands.ts";
import { readDefaults } from "./run-call.ts";

const NOTES = `
Examples:
  agtp-rpc
  agtp-rpc validate manifest.json
  agtp-rpc compile manifest.json --target openclaw-scheduler
  agtp-rpc apply manifest.json --db scheduler.db --dry-run

A manifest is a file, - for standard input, or JSON.
Exit codes: 0 done, 1 not, and standard error says why as JSON, 2 the command line is wrong.`;

const DB_OPTION = { "--db <file>": "the scheduler's database" } as const;

/** Without a command it serves the protocol until standard input ends. */
export const rpcProgram: Command = command({
  name: "agtp-rpc",
  description: "agentcli manifests: JSON-RPC on standard input and output, or one command.",
  options: { ...DB_OPTION, "--json": "print JSON, as is done anyway" },
  notes: NOTES,
  commands: [
    command({
      name: "serve",
      description: "serve the protocol, as without a command",
      options: DB_OPTION,
      run: serve,
    }),
    ...CALL_COMMANDS,
  ],
  run: serve,
});

async function serve(line: { readonly db?: string }, terminal: Terminal): Promise<number> {
  const { environment, directory, err, streams } = terminal;
  const world = createWorld(environment, directory);
  const report = (error: unknown): void => {
    const text = error instanceof Error ? (error.stack ?? "") : reasonOf(error);
    err.write(`agtp-rpc: ${defuseLine(text)}\n`);
  };
  const defaults = readDefaults(environment, line.db);
  await serveProtocol({ world, defaults, ...streams, report });
  return 0;
}
