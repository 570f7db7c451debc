#!/usr/bin/env node
/** `agtp-rpc`: agentcli manifests, as JSON-RPC on standard input and output or as commands. */
import { runRpcCommand } from "../src/programs/rpc/command.ts";
import { readInput } from "./process-input.ts";
import { processTerminal } from "./process-terminal.ts";

/** As long as a line of the protocol may be. */
const MAX_INPUT_BYTES = 16 * 1024 * 1024;

// Programs that it runs are in groups of their own, which get no signal: they end when it exits.
process.on("SIGINT", () => process.exit(130));
process.on("SIGTERM", () => process.exit(143));

process.exitCode = await runRpcCommand(process.argv.slice(2), {
  ...processTerminal(() => readInput(MAX_INPUT_BYTES)),
  input: process.stdin,
  output: process.stdout,
  env: process.env,
});
