#!/usr/bin/env -S node --min-semi-space-size=16 --max-semi-space-size=16
/** `agtp-rpc`: agentcli manifests, as JSON-RPC on standard input and output or as commands. */
import { runNamed } from "./programs.ts";

// Child programs run in process groups of their own, which get no signal: they end when this one exits.
process.on("SIGINT", () => process.exit(130));
process.on("SIGTERM", () => process.exit(143));

await runNamed("agtp-rpc");
