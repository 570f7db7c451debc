#!/usr/bin/env node
/** `agtp-openapi`: OpenAPI documents as endpoints, and endpoints as OpenAPI documents. */
import { openapiProgram } from "../src/programs/openapi/command.ts";
import { runHere } from "./process-terminal.ts";

await runHere(openapiProgram);
