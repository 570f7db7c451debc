/** The terminal of this process, as the programs take it, and the way to run one of them on it. */
import { given } from "../src/base/json-value.ts";
import { codeOf, reasonOf } from "../src/base/thrown.ts";
import { AgtpClientError } from "../src/client/client-error.ts";
import type { Command } from "../src/programs/shell/command.ts";
import { runProgram } from "../src/programs/shell/run-program.ts";
import type { Output, Terminal } from "../src/programs/shell/terminal.ts";

const MAX_INPUT_BYTES = 64 * 1024 * 1024;

/** Runs a program with the arguments of this process; it exits by what the program answers. */
export async function runHere(program: Command): Promise<void> {
  process.exitCode = await runProgram(program, process.argv.slice(2), processTerminal());
}

/** Standard output, error and input, and where this process stands. */
export function processTerminal(): Terminal {
  return {
    out: output(process.stdout),
    err: output(process.stderr),
    directory: process.cwd(),
    environment: process.env,
    ...given({ script: scriptOf(process.argv[1]) }),
    readInput,
    streams: {
      // Making it takes milliseconds, and few programs read it.
      get input() {
        return process.stdin;
      },
      get output() {
        return heard(process.stdout);
      },
    },
  };
}

/** A command on the path is a link by its own name, or lies where packages are installed. */
function scriptOf(path = ""): string | undefined {
  return path.endsWith(".js") && !path.includes("/node_modules/") ? path : undefined;
}

/** Results that cannot be written end the process; a daemon writes past it. What is said beside them may be lost. */
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

/** The stream, once somebody hears of its errors. */
function heard(stream: NodeJS.WriteStream): NodeJS.WriteStream {
  const onError = stream === process.stdout ? endUnwritten : ignore;
  if (!stream.listeners("error").includes(onError)) stream.on("error", onError);
  return stream;
}

/** Quietly where the reader stopped early, as `head` does; a result that is lost is none. */
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
