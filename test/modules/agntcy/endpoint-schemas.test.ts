import { describe, expect, it } from "vitest";
import { nestSchema } from "../../../src/modules/agntcy/endpoints/endpoint-schemas.ts";
import { prepareMeteredCheck } from "../../../src/schema/metered-schema.ts";

describe("nestSchema", () => {
  const schema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "https://acme.example/tree",
    type: "object",
    properties: {
      value: { $ref: "#/$defs/number" },
      named: { $ref: "#Name" },
      children: { type: "array", items: { $ref: "#" } },
      $ref: { type: "string" },
    },
    required: ["value"],
    $defs: { number: { type: "integer" }, name: { $anchor: "Name", type: "string" } },
  };
  const outer = {
    type: "object",
    properties: {
      input: nestSchema(schema, "/properties/input"),
      other: { $ref: "#/properties/input" },
    },
  };

  it.each([
    [{ value: 1, children: [{ value: 2 }], $ref: "a", named: "b" }, true],
    [{ value: "1" }, false],
    [{ value: 1, children: [{ value: "2" }] }, false],
    [{ value: 1, named: 7 }, false],
    [{ value: 1, $ref: 7 }, false],
    [{}, false],
  ])("says of %j what the schema says by itself", (value, isValid) => {
    expect(prepareMeteredCheck(schema)(value) === undefined).toBe(isValid);
    expect(prepareMeteredCheck(outer)({ input: value }) === undefined).toBe(isValid);
    expect(prepareMeteredCheck(outer)({ other: value }) === undefined).toBe(isValid);
  });
});
