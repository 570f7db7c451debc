#!/usr/bin/env node
/** `agtp-keys`: makes and verifies keys, identities, certificates and attribution chains. */
import { keysProgram } from "../src/programs/keys/command.ts";
import { runHere } from "./process-terminal.ts";

await runHere(keysProgram);
