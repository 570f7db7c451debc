#!/usr/bin/env node
/** `agtp-conformance`: runs the conformance cases of AGTP-API against a server. */
import { conformanceProgram } from "../src/programs/conformance/command.ts";
import { runHere } from "./process-terminal.ts";

await runHere(conformanceProgram);
