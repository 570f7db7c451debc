#!/usr/bin/env -S node --min-semi-space-size=16 --max-semi-space-size=16
/** `agtp-manifest`: checks a server manifest and its signature. */
import { runNamed } from "./programs.ts";

await runNamed("agtp-manifest");
