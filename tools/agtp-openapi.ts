#!/usr/bin/env -S node --min-semi-space-size=16 --max-semi-space-size=16
/** `agtp-openapi`: converts OpenAPI documents to endpoints, and endpoints to OpenAPI documents. */
import { runNamed } from "./programs.ts";

await runNamed("agtp-openapi");
