#!/usr/bin/env -S node --min-semi-space-size=16 --max-semi-space-size=16
/** `agtp-openapi`: OpenAPI documents as endpoints, and endpoints as OpenAPI documents. */
import { runNamed } from "./programs.ts";

await runNamed("agtp-openapi");
