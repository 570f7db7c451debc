import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readDelegation } from "../../../src/modules/delegation/request.ts";

const NOW = Date.UTC(2026, 0, 1);
const WHOLE = { target_agent_id: "bob", task: { method: "QUERY" }, authority_scope: [] };

// AGTP "DELEGATE"
describe("readDelegation", () => {
  it.each([
    ["2026-01-01T00:00:10Z", NOW + 10_000],
    ["2026-01-01T01:00:10+01:00", NOW + 10_000],
    ["PT1M", NOW + 60_000],
    ["90s", NOW + 90_000],
    [5, NOW + 5_000],
    [undefined, undefined],
  ])("reads the deadline %j", (deadline, at) => {
    expect(readDelegation({ ...WHOLE, deadline }, NOW)).toMatchObject({ deadline: at });
  });

  it.each(["soon", "2030-02-31T00:00:00Z", "2030-01-01T24:00:00Z"])(
    "does not take %j for a deadline",
    (deadline) => {
      expect(readDelegation({ ...WHOLE, deadline }, NOW)).toMatchObject({ status: 422 });
    },
  );

  it("reads a request or says 422, whatever is written", () => {
    const member = fc.constantFrom(...Object.keys(WHOLE), "deadline", "callback", "sub_agent");
    const step = fc.record(
      {
        method: fc.jsonValue(),
        path: fc.jsonValue(),
        action: fc.jsonValue(),
        parameters: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    const value = fc.oneof(fc.jsonValue(), step, fc.array(step, { maxLength: 3 }));
    fc.assert(
      fc.property(fc.dictionary(member, value), (written) => {
        const read = readDelegation({ ...WHOLE, ...written }, NOW);
        if ("kind" in read) expect([400, 422]).toContain(read.status);
        else expect(read.task.steps.length).toBeGreaterThan(0);
      }),
    );
  });
});
