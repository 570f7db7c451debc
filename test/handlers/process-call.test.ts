/** The result of a function, as its process wrote it. */
import { describe, expect, it } from "vitest";
import { ProcessFault, readResult } from "../../src/handlers/processes/process-call.ts";

describe("readResult", () => {
  it("takes an empty list for headers without members, as PHP writes them", () => {
    expect(readResult({ body: {}, headers: [] })).toEqual({ body: {} });
  });

  it.each([[["x"]], ["x"], [7], [true]])("refuses headers that are no object: %j", (headers) => {
    expect(() => readResult({ body: {}, headers })).toThrow(ProcessFault);
  });
});
