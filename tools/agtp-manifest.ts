#!/usr/bin/env node
/** `agtp-manifest`: checks a server manifest and its signature. */
import { manifestProgram } from "../src/programs/manifest-check/command.ts";
import { runHere } from "./process-terminal.ts";

await runHere(manifestProgram);
