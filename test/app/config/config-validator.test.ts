/** The code that the build generates judges as the schema does that it was made from. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { ValidateFunction } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { compileConfigSchema, configSchema } from "../../../src/app/config/config.ts";
import { ROOT } from "../../support/source-tree.ts";

const BUILT = pathToFileURL(join(ROOT, "dist/src/app/config/validate-config.js")).href;
const { validateConfig: generated }: { readonly validateConfig: ValidateFunction } = await import(
  BUILT
);
const compiled = compileConfigSchema().compile(configSchema);

function judge(validator: ValidateFunction, tree: object): readonly unknown[] {
  const filled = structuredClone(tree);
  const isValid = validator(filled);
  return [isValid, JSON.stringify(validator.errors), filled];
}

describe("the generated validator of the configuration", () => {
  it.each([
    {},
    { server: { server_id: "agents.acme.example" } },
    { server: { server_id: "a", port: "x", unknown: 1 }, limits: { body_bytes: -1 } },
    { server: { server_id: "a" }, attribution: { retention: { days: 0, archive: "a" } } },
    { server: { server_id: "a" }, store: { driver: "oracle", url: 7 }, peers: [{}], apis: {} },
    { server: { server_id: "a" }, policies: { methods: { custom: "all" } }, nothing: {} },
  ])("finds the same, and fills in the same: %j", (tree) => {
    expect(judge(generated, tree)).toEqual(judge(compiled, tree));
  });
});
