#!/usr/bin/env node
/** `agtp`: the client. Sends one request, prints the response, and exits by what came back. */
import { runCommand } from "../src/programs/agtp/command.ts";
import { readInput } from "./process-input.ts";
import { processTerminal } from "./process-terminal.ts";

process.exitCode = await runCommand(process.argv.slice(2), processTerminal(readInput));
