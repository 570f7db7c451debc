#!/usr/bin/env node
/** `agtp-agntcy`: checks AGNTCY agent manifests, and writes OASF records of hosted agents. */
import { agntcyProgram } from "../src/programs/agntcy-command/command.ts";
import { runHere } from "./process-terminal.ts";

await runHere(agntcyProgram);
