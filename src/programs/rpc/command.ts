/**
 * `agtp-rpc`: serves the protocol on standard input and output, or runs one command. Results are
 * JSON on standard output; errors are JSON on standard error, with exit code 1.
 * agentcli protocol "Transport"
 */

import type { Readable, Writable } from "node:stream";
import { type Line, LineReader } from "../../base/line-reader.ts";
import { reasonOf } from "../../base/thrown.ts";
import { createWorld } from "../../modules/agentcli/create-world.ts";
import type { MethodContext } from "../../modules/agentcli/methods/method.ts";
import { READY_PARAMS } from "../../modules/agentcli/methods/method-table.ts";
import {
  answerLine,
  MAX_LINE_BYTES,
  type ReportFault,
} from "../../modules/agentcli/protocol/answer-line.ts";
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

interface ServeOptions extends MethodContext {
  readonly input: Readable;
  readonly output: Writable;
  readonly report: ReportFault;
}

/**
 * Serves the protocol on two streams: the ready notification, then one answer per request, in
 * order. Resolves when the input has ended, or the reader of the output has gone.
 */
export async function serveProtocol(options: ServeOptions): Promise<void> {
  const { input, report } = options;
  const output = new Lines(options.output);
  await output.write({ jsonrpc: "2.0", method: "agentcli.ready", params: READY_PARAMS });
  const reader = new LineReader(MAX_LINE_BYTES);
  const answer = async (lines: Iterable<Line>): Promise<void> => {
    for (const line of lines) {
      const response = await answerLine(line, options, report);
      if (response !== undefined) await output.write(response);
    }
  };
  try {
    for await (const chunk of input) {
      await answer(reader.push(chunk as Buffer));
      if (output.isGone) return;
    }
  } catch (error) {
    // An aborted input counts as ended.
    report(error);
  }
  await answer(reader.end());
}

/** Writes one message per line, and waits while the reader is slow. */
class Lines {
  readonly #stream: Writable;
  #wake: () => void = () => undefined;
  isGone = false;

  constructor(stream: Writable) {
    this.#stream = stream;
    const end = (): void => {
      this.isGone = true;
      this.#wake();
    };
    stream.on("error", end).on("close", end);
    stream.on("drain", () => this.#wake());
  }

  async write(message: object): Promise<void> {
    if (this.isGone) return;
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    if (!this.#stream.write(`${JSON.stringify(message)}\n`)) await woken;
  }
}
