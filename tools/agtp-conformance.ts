#!/usr/bin/env -S node --min-semi-space-size=16 --max-semi-space-size=16
/** `agtp-conformance`: runs the conformance cases of AGTP-API against a server. */
import { runNamed } from "./programs.ts";

await runNamed("agtp-conformance");
