#!/usr/bin/env node
/** `agtp-agntcy`: checks AGNTCY agent manifests, and writes OASF records of hosted agents. */
import { runAgntcyCommand } from "../src/programs/agntcy-command/command.ts";
import { readInput } from "./process-input.ts";
import { processTerminal } from "./process-terminal.ts";

const terminal = processTerminal(readInput);
process.exitCode = await runAgntcyCommand(process.argv.slice(2), terminal, process.env);
