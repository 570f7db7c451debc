#!/usr/bin/env node
/** `agtp-rpc`: agentcli manifests, as JSON-RPC on standard input and output or as commands. */
import { rpcProgram } from "../src/programs/rpc/command.ts";
import { runHere } from "./process-terminal.ts";

// Programs that it runs are in groups of their own, which get no signal: they end when it exits.
process.on("SIGINT", () => process.exit(130));
process.on("SIGTERM", () => process.exit(143));

await runHere(rpcProgram);
