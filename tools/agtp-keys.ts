#!/usr/bin/env node
/** `agtp-keys`: makes and verifies keys, identities, certificates and attribution chains. */
import { AgtpClientError } from "../src/client/client-error.ts";
import type { Output, Terminal } from "../src/client/terminal.ts";
import { runKeysCommand } from "../src/keys/command.ts";

const terminal: Terminal = {
  out: output(process.stdout),
  err: output(process.stderr),
  directory: process.cwd(),
  readInput: () =>
    Promise.reject(new AgtpClientError("ERR_AGTP_REQUEST", "standard input is not read")),
};

// Whoever reads the output may stop early, as `head` does.
process.stdout.on("error", () => process.exit());
process.exitCode = await runKeysCommand(process.argv.slice(2), terminal);

function output(stream: NodeJS.WriteStream): Output {
  const isTerminal = stream.isTTY === true;
  return {
    write: (text) => void stream.write(text),
    isTerminal,
    hasColour: isTerminal && (process.env["NO_COLOR"] ?? "") === "",
  };
}
