/**
 * Build step: generates code that validates configurations and the inputs of the protocol's own
 * endpoints, and replaces the modules of the schemas with it.
 */
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Ajv2020, ValidateFunction } from "ajv/dist/2020.js";
import { compileConfigSchema, configSchema } from "../src/app/config/config.ts";
import { checkDeployment } from "../src/app/daemon.ts";
import { MODULES } from "../src/app/modules.ts";
import type { AnyModule } from "../src/app/provision.ts";
import { createLog } from "../src/base/log.ts";
import { formatProblem } from "../src/base/problem.ts";
import { FILTER_SCHEMA } from "../src/modules/search/filter.ts";
import { createGenerators } from "../src/schema/generator.ts";
import type { JsonSchema } from "../src/schema/json-schema.ts";
import { inScratch } from "./scratch.ts";

type Standalone = { default(ajv: Ajv2020, validator: ValidateFunction): string };

// CommonJS modules, whose default exports cannot be imported by name.
const require = createRequire(import.meta.url);
const standalone: Standalone = require("ajv/dist/standalone");

/** Generates the code for a schema, with functions of packages inlined, so that it needs no imports. */
function codeOf(ajv: Ajv2020, schema: JsonSchema): string {
  return standalone
    .default(ajv, ajv.compile(schema))
    .replace(/\brequire\("([^"]+)"\)\.default/g, (_, name: string) => `(${require(name).default})`);
}

function write(file: string, code: string): void {
  writeFileSync(fileURLToPath(new URL(`../src/${file}.js`, import.meta.url)), code);
}

const config = codeOf(compileConfigSchema({ source: true, esm: true }), configSchema);
write("app/config/validate-config", `${config}\nexport { validate as validateConfig };\n`);

const generatorOf = createGenerators({ source: true });
const imports = [
  'import { compileMembership, FORMATS, hasUniqueItems, isMultipleOf } from "./keywords-and-formats.js";',
  'import { textPattern } from "./text-pattern.js";',
  "const formats = Object.fromEntries(FORMATS);",
];
const own = [...new Set((await ownSchemas()).map((schema) => JSON.stringify(schema)))];
const entries = own.map((text) => {
  const code = codeOf(generatorOf(text, true), JSON.parse(text)).replace(text, "schema");
  return `[${JSON.stringify(text)}, (schema) => { const module = {};${code}\nreturn module.exports; }],`;
});
write(
  "schema/compiled-ahead",
  [...imports, "export const compiledAhead = new Map([", ...entries, "]);\n"].join("\n"),
);

/** The input schemas of the protocol's own endpoints, which are the same in every deployment. */
function ownSchemas(): Promise<readonly JsonSchema[]> {
  return inScratch(async (directory) => {
    const schemas: JsonSchema[] = [FILTER_SCHEMA];
    const listing: AnyModule = {
      name: "listing",
      takes: {},
      provision: async ({ deployment }) => ({
        async complete() {
          const own = deployment().registry.entries.filter(({ tier }) => tier === "A");
          schemas.push(...own.map(({ input }) => input.schema));
          return [];
        },
      }),
    };
    const configPath = join(directory, "agtp-server.toml");
    writeFileSync(configPath, '[server]\nserver_id = "own.example"\n');
    const sink = { write: () => undefined, flush: async () => undefined };
    const log = createLog("silent", sink);
    const problems = await checkDeployment({
      configPath,
      env: {},
      log,
      modules: [...MODULES, listing],
    });
    if (schemas.length === 1) throw new Error(problems.map(formatProblem).join("\n"));
    return schemas;
  });
}
