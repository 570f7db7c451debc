#!/usr/bin/env -S node --min-semi-space-size=16 --max-semi-space-size=16
/** `agtp-keys`: makes and verifies keys, identities, certificates and attribution chains. */
import { runNamed } from "./programs.ts";

await runNamed("agtp-keys");
