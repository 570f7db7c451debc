#!/usr/bin/env node
/** `agtp`: the client. Sends one request, prints the response, and exits by what came back. */
import { AgtpClientError } from "../src/client/client-error.ts";
import { runCommand } from "../src/client/command.ts";
import type { Output, Terminal } from "../src/client/terminal.ts";

const MAX_INPUT_BYTES = 64 * 1024 * 1024;

const terminal: Terminal = {
  out: output(process.stdout),
  err: output(process.stderr),
  directory: process.cwd(),
  readInput,
};

// Whoever reads the output may stop early, as `head` does.
process.stdout.on("error", () => process.exit());
process.exitCode = await runCommand(process.argv.slice(2), terminal);

function output(stream: NodeJS.WriteStream): Output {
  const isTerminal = stream.isTTY === true;
  return {
    write: (text) => void stream.write(text),
    isTerminal,
    hasColour: isTerminal && (process.env["NO_COLOR"] ?? "") === "",
  };
}

async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of process.stdin) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_INPUT_BYTES) {
      throw new AgtpClientError("ERR_AGTP_REQUEST", `more than ${MAX_INPUT_BYTES} bytes of input`);
    }
  }
  return Buffer.concat(chunks).toString();
}
