#!/usr/bin/env -S node --min-semi-space-size=16 --max-semi-space-size=16
/** `agtp`: the client. Sends one request, prints the response, and exits with a code that reflects it. */
import { runNamed } from "./programs.ts";

await runNamed("agtp");
