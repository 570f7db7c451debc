/** The validators that the build makes of the protocol's own schemas judge as those that are made as they are needed. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { ValidateFunction } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MODULES } from "../../src/app/modules.ts";
import type { AnyModule } from "../../src/app/provision.ts";
import { FILTER_SCHEMA } from "../../src/modules/search/filter.ts";
import { createGenerators } from "../../src/schema/generator.ts";
import type { JsonSchema } from "../../src/schema/json-schema.ts";
import { openDaemon } from "../support/daemon.ts";
import { ROOT } from "../support/source-tree.ts";

const BUILT = pathToFileURL(join(ROOT, "dist/src/schema/compiled-ahead.js")).href;
const { compiledAhead }: typeof import("../../src/schema/compiled-ahead.ts") = await import(BUILT);
const generatorOf = createGenerators();

const SCALARS = [
  null,
  true,
  0,
  -1,
  1.5,
  1e9,
  Number.POSITIVE_INFINITY,
  "",
  "a",
  "é😀",
  "2030-05-04T10:00:00Z",
];
const OTHERS: readonly unknown[] = [[], {}, ["a", "a"], Array(1025).fill("a"), { constructor: 1 }];

/** Values that a schema allows, and values that it nearly does. */
function near(schema: JsonSchema): fc.Arbitrary<unknown> {
  const { properties = {}, items = {}, maxLength = 1, enum: allowed = [], anyOf = [] } = schema;
  const long = ["x".repeat(Number(maxLength)), "x".repeat(Number(maxLength) + 1)];
  const leaf = fc.constantFrom<unknown>(...SCALARS, ...OTHERS, ...long, ...(allowed as unknown[]));
  const members = Object.entries(properties as Readonly<Record<string, JsonSchema>>);
  const record = fc.record(
    Object.fromEntries([...members.map(([name, inner]) => [name, near(inner)]), ["more", leaf]]),
    { requiredKeys: [], noNullPrototype: true },
  );
  const list = fc.array(
    items === true || Object.keys(items as object).length === 0 ? leaf : near(items as JsonSchema),
    { maxLength: 3 },
  );
  const branches = (anyOf as readonly JsonSchema[]).map(near);
  return fc.oneof({ weight: members.length > 0 ? 1 : 4, arbitrary: leaf }, list, ...branches, {
    weight: 8,
    arbitrary: record,
  });
}

function judge(validator: ValidateFunction, value: unknown): readonly unknown[] {
  return [validator(value), validator.errors];
}

/** The schemas of what the endpoints of the protocol are sent, in a deployment that has nothing else. */
async function ownSchemas(): Promise<readonly JsonSchema[]> {
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
  await openDaemon({}, {}, [...MODULES, listing]);
  return schemas;
}

describe("the validators that the build has made", () => {
  it("are those of all endpoints of the protocol", async () => {
    const texts = (await ownSchemas()).map((schema) => JSON.stringify(schema));
    expect(texts.length).toBeGreaterThan(1);
    expect(texts.filter((text) => !compiledAhead.has(text))).toEqual([]);
  });

  const made = [...compiledAhead].map(([text, make]) => ({ start: text.slice(0, 80), text, make }));
  it.each(made)("give the verdict and every error of $start", ({ text, make }) => {
    const schema: JsonSchema = JSON.parse(text);
    const ahead = make(schema);
    const generated = generatorOf(text, true).compile(schema);
    fc.assert(
      fc.property(near(schema), (value) => {
        expect(judge(ahead, value)).toEqual(judge(generated, value));
      }),
      { numRuns: 200 },
    );
  });
});
