#!/usr/bin/env node
/** `agtp-openapi`: OpenAPI documents as endpoints, and endpoints as OpenAPI documents. */
import { runOpenApiCommand } from "../src/programs/openapi/command.ts";
import { readInput } from "./process-input.ts";
import { processTerminal } from "./process-terminal.ts";

const terminal = processTerminal(readInput);
process.exitCode = await runOpenApiCommand(process.argv.slice(2), terminal, process.env);
