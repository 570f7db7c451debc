#!/usr/bin/env -S node --min-semi-space-size=16 --max-semi-space-size=16
/** `agtpd`: reads its command line, and loads the daemon or the requested command. */
import { runNamed } from "./programs.ts";

await runNamed("agtpd");
