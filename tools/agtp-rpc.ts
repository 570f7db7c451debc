#!/usr/bin/env node
/** `agtp-rpc`: agentcli manifests, as JSON-RPC on standard input and output or as commands. */
import { runRpcCommand } from "../src/agents/agentcli/command/command.ts";
import { AgtpClientError } from "../src/client/client-error.ts";
import { processTerminal } from "./process-terminal.ts";

const MAX_INPUT_BYTES = 16 * 1024 * 1024;

process.exitCode = await runRpcCommand(process.argv.slice(2), {
  ...processTerminal(readInput),
  input: process.stdin,
  output: process.stdout,
  env: process.env,
});

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
