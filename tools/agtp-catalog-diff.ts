#!/usr/bin/env node
/** `agtp-catalog-diff`: compares two method catalogs, and says what an upgrade would break. */
import { catalogDiffProgram } from "../src/programs/upgrade/command.ts";
import { runHere } from "./process-terminal.ts";

await runHere(catalogDiffProgram);
