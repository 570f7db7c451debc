#!/usr/bin/env node
/** `agtp-mcp`: MCP in front of AGTP servers, and MCP servers behind one. */
import { mcpProgram } from "../src/programs/mcp/command.ts";
import { runHere } from "./process-terminal.ts";

await runHere(mcpProgram);
