#!/usr/bin/env -S node --min-semi-space-size=16 --max-semi-space-size=16
/** `agtp-mcp`: MCP in front of AGTP servers, and MCP servers behind one. */
import { runNamed } from "./programs.ts";

await runNamed("agtp-mcp");
