#!/usr/bin/env -S node --min-semi-space-size=16 --max-semi-space-size=16
/** `agtp-agntcy`: checks AGNTCY agent manifests, and writes OASF records of hosted agents. */
import { runNamed } from "./programs.ts";

await runNamed("agtp-agntcy");
