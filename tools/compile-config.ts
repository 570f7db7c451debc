/** Part of the build: generates the code that checks a configuration, in the place of the module that has none. */
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { Ajv2020, ValidateFunction } from "ajv/dist/2020.js";
import { compileConfigSchema, configSchema } from "../src/app/config/config.ts";

type Standalone = { default(ajv: Ajv2020, validator: ValidateFunction): string };

// CommonJS modules, whose default exports are not found by name.
const require = createRequire(import.meta.url);
const standalone: Standalone = require("ajv/dist/standalone");
const ajv = compileConfigSchema({ source: true, esm: true });
// A function of the package stands in the code itself, which needs nothing then.
const code = standalone
  .default(ajv, ajv.compile(configSchema))
  .replace(/\brequire\("([^"]+)"\)\.default/g, (_, name: string) => `(${require(name).default})`);
const path = new URL("../src/app/config/validate-config.js", import.meta.url);
writeFileSync(fileURLToPath(path), `${code}\nexport { validate as validateConfig };\n`);
