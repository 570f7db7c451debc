#!/usr/bin/env node
/** `agtp-manifest`: checks a server manifest and its signature. */
import { AgtpClientError } from "../src/client/client-error.ts";
import { runManifestCommand } from "../src/programs/manifest-check/command.ts";
import { processTerminal } from "./process-terminal.ts";

const terminal = processTerminal(() =>
  Promise.reject(new AgtpClientError("ERR_AGTP_REQUEST", "standard input is not read")),
);
process.exitCode = await runManifestCommand(process.argv.slice(2), terminal);
