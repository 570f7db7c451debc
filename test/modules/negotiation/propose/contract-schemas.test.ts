import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import {
  createContractSchemas,
  readProposedSchema,
} from "../../../../src/modules/negotiation/propose/proposed-schema.ts";
import type { JsonSchema } from "../../../../src/schema/json-schema.ts";

const BOOKING = { id: "123e4567-e89b-12d3-a456-426614174000", nights: 20_000, code: "ABC-1" };

/** No two of them are the same. */
function proposal(index: number): JsonSchema {
  return {
    type: "object",
    required: ["id"],
    properties: {
      id: { type: "string", format: "uuid" },
      nights: { type: "integer", minimum: index },
      code: { type: "string", pattern: `^[A-Z]{3}-(?:1|${index})$` },
    },
  };
}

function usedHeapAfterCollection(): number {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

/** What some work leaves behind, in MiB. */
function growthOf<Result>(work: () => Result): number {
  const before = usedHeapAfterCollection();
  const kept = work();
  const after = usedHeapAfterCollection();
  // Only now may it go.
  expect(kept).toBeDefined();
  return (after - before) / 1_048_576;
}

// AGTP-API §13.2
describe("createContractSchemas", () => {
  it("checks values against a schema, as often as one likes", () => {
    const { check, schema } = createContractSchemas().compile(proposal(1));
    expect(schema).toEqual(proposal(1));
    expect(check(BOOKING)).toBeUndefined();
    expect(check({})).toEqual([{ path: "/id", keyword: "required", message: "is required" }]);
    expect(check(BOOKING)).toBeUndefined();
  });

  it("checks against a schema again that it let go of", () => {
    const schemas = createContractSchemas(1);
    const compiled = [1, 2, 3].map((index) => schemas.compile(proposal(index)));
    for (const { check } of [...compiled, ...compiled]) {
      expect(check(BOOKING)).toBeUndefined();
      expect(check({ ...BOOKING, nights: 0 })?.[0]?.path).toBe("/nights");
    }
  });

  it("keeps as little as it says of ten thousand contracts that were called", () => {
    const schemas = createContractSchemas(100);
    const held = Array.from({ length: 10_000 }, (_, index) => schemas.compile(proposal(index)));
    const growth = growthOf(() => {
      for (const { check } of held) expect(check(BOOKING)).toBeUndefined();
      return held;
    });
    // Prepared all at once they take some 140 MiB.
    expect(growth).toBeLessThan(10);
  });

  it("leaves nothing behind of ten thousand proposals", () => {
    const growth = growthOf(() => {
      for (let index = 0; index < 10_000; index += 1) {
        const result = readProposedSchema(proposal(index), "input_schema");
        if ("fault" in result) throw new Error(result.fault.message);
        if (index % 10 === 0) expect(result.schema.check(BOOKING)).toBeUndefined();
      }
      return true;
    });
    expect(growth).toBeLessThan(5);
  });
});
