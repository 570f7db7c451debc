#!/usr/bin/env node
/** `agtp-keys`: makes and verifies keys, identities, certificates and attribution chains. */
import { AgtpClientError } from "../src/client/client-error.ts";
import { runKeysCommand } from "../src/programs/keys/command.ts";
import { processTerminal } from "./process-terminal.ts";

const terminal = processTerminal(() =>
  Promise.reject(new AgtpClientError("ERR_AGTP_REQUEST", "standard input is not read")),
);
process.exitCode = await runKeysCommand(process.argv.slice(2), terminal, process.env);
