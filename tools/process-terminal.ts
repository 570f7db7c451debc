/** The terminal of this process for programs, and a function that runs one on it. */
import { given } from "../src/base/json-value.ts";
import { codeOf, reasonOf } from "../src/base/thrown.ts";
import { AgtpClientError } from "../src/client/client-error.ts";
import type { Command } from "../src/programs/shell/command.ts";
import { runProgram } from "../src/programs/shell/run-program.ts";
import type { Output, Terminal } from "../src/programs/shell/terminal.ts";

const MAX_INPUT_BYTES = 64 * 1024 * 1024;

/** Runs a program with the arguments of this process, and exits with its code. */
export async function runHere(program: Command): Promise<void> {
  process.exitCode = await runProgram(program, process.argv.slice(2), processTerminal());
}

/** The outputs, the input and the directory of this process. */
export function processTerminal(): Terminal {
  return {
    out: output(process.stdout),
    err: output(process.stderr),
    directory: process.cwd(),
    environment: process.env,
    ...given({ script: scriptOf(process.argv[1]) }),
    readInput,
    streams: {
      // Created on demand: it takes milliseconds, and few programs read it.
      get input() {
        return process.stdin;
      },
      get output() {
        return heard(process.stdout);
      },
    },
  };
}

/** The script, if Node was given its path; a command on the PATH is a link without extension, or in node_modules. */
function scriptOf(path = ""): string | undefined {
  return path.endsWith(".js") && !path.includes("/node_modules/") ? path : undefined;
}

/**
 * An output: a failed write of results ends the process, except a daemon; lost messages on standard
 * error are ignored.
 */
function output(stream: NodeJS.WriteStream): Output {
  const isTerminal = stream.isTTY === true;
  return {
    write: (text) => {
      heard(stream).write(text);
    },
    isTerminal,
    hasColour: isTerminal && (process.env["NO_COLOR"] ?? "") === "",
  };
}

/** The stream, with a listener for its errors. */
function heard(stream: NodeJS.WriteStream): NodeJS.WriteStream {
  const onError = stream === process.stdout ? endUnwritten : ignore;
  if (!stream.listeners("error").includes(onError)) stream.on("error", onError);
  return stream;
}

/** Ends without a message if the reader stopped early, like `head`; otherwise a lost result is a failure. */
function endUnwritten(error: Error): void {
  if (codeOf(error) === "EPIPE") process.exit();
  process.stderr.on("error", ignore);
  process.stderr.write(`cannot write to standard output: ${reasonOf(error)}\n`);
  process.exit(2);
}

function ignore(): void {}

async function readInput(maxBytes: number = MAX_INPUT_BYTES): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of process.stdin) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBytes) {
      throw new AgtpClientError("ERR_AGTP_REQUEST", `more than ${maxBytes} bytes of input`);
    }
  }
  return Buffer.concat(chunks).toString();
}
