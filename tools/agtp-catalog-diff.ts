#!/usr/bin/env node
/** `agtp-catalog-diff`: compares two method catalogs, and says what an upgrade would break. */
import { AgtpClientError } from "../src/client/client-error.ts";
import { runCatalogDiff } from "../src/programs/upgrade/command.ts";
import { processTerminal } from "./process-terminal.ts";

const terminal = processTerminal(() =>
  Promise.reject(new AgtpClientError("ERR_AGTP_REQUEST", "standard input is not read")),
);
process.exitCode = runCatalogDiff(process.argv.slice(2), terminal, process.env);
