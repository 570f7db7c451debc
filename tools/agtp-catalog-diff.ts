#!/usr/bin/env -S node --min-semi-space-size=16 --max-semi-space-size=16
/** `agtp-catalog-diff`: compares two method catalogs, and reports what an upgrade would break. */
import { runNamed } from "./programs.ts";

await runNamed("agtp-catalog-diff");
