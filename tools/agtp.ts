#!/usr/bin/env node
/** `agtp`: the client. Sends one request, prints the response, and exits by what came back. */
import { AgtpClientError } from "../src/client/client-error.ts";
import { runCommand } from "../src/client/command.ts";
import { processTerminal } from "./process-terminal.ts";

const MAX_INPUT_BYTES = 64 * 1024 * 1024;

process.exitCode = await runCommand(process.argv.slice(2), processTerminal(readInput));

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
