/** Part of the build: generates the code that checks a configuration, beside the module that runs it. */
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { Ajv2020, ValidateFunction } from "ajv/dist/2020.js";
import { compileConfigSchema, configSchema, GENERATED } from "../src/app/config/config.ts";

type Standalone = { default(ajv: Ajv2020, validator: ValidateFunction): string };

// A CommonJS module whose default export is not found by name.
const standalone: Standalone = createRequire(import.meta.url)("ajv/dist/standalone");
const ajv = compileConfigSchema({ source: true });
const code = standalone.default(ajv, ajv.compile(configSchema));
const path = new URL(`../src/app/config/${GENERATED}`, import.meta.url);
writeFileSync(fileURLToPath(path), code);
