#!/usr/bin/env node
/** `agtp-conformance`: runs the conformance cases of AGTP-API against a server. */
import { AgtpClientError } from "../src/client/client-error.ts";
import { runConformance } from "../src/programs/conformance/command.ts";
import { processTerminal } from "./process-terminal.ts";

const terminal = processTerminal(() =>
  Promise.reject(new AgtpClientError("ERR_AGTP_REQUEST", "standard input is not read")),
);
process.exitCode = await runConformance(process.argv.slice(2), terminal);
