#!/usr/bin/env node
/** `agtp`: the client. Sends one request, prints the response, and exits by what came back. */
import { agtpProgram } from "../src/programs/agtp/command.ts";
import { runHere } from "./process-terminal.ts";

await runHere(agtpProgram);
