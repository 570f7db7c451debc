/** The contracts that QUERY shows their owner: the newest, as many as it looks at. */
import { expect, it, vi } from "vitest";
import { MAX_SOURCE_ENTRIES } from "../../../src/dispatch/module/query-source.ts";
import type { Contract } from "../../../src/endpoint/contract.ts";
import { contractSource } from "../../../src/modules/negotiation/module.ts";

function contract(issuedAt: number): Contract {
  const endpoint = {
    ...{ method: "BOOK", path: `/suite/${issuedAt}`, description: "Books.", errors: [] },
    ...{
      input_schema: {},
      output_schema: {},
      required_scopes: [],
      handler: { type: "composition" },
    },
    semantic: { intent: "Book.", actor: "agent", outcome: "Booked." },
  };
  return {
    ...{ synthesisId: `syn-${issuedAt}`, agentId: "alice", endpoint, contractHash: "" },
    ...{ issuedAt, expiresAt: issuedAt, state: "active", origin: "propose", isPersistent: false },
  } as unknown as Contract;
}

it("makes no more contracts than are looked at, and those the newest", async () => {
  const all = Array.from({ length: 1000 }, (_, at) => contract(at));
  const stamp = vi.spyOn(Date.prototype, "toISOString");
  const source = contractSource({ active: () => all });
  const asker = { caller: { agentId: "alice" } } as Parameters<typeof source.entries>[0];
  const entries = await source.entries(asker);
  const stamped = stamp.mock.calls.length;
  stamp.mockRestore();
  expect(entries.map(({ id }) => id).slice(0, 2)).toEqual(["syn-999", "syn-998"]);
  expect([entries.length, stamped]).toEqual([MAX_SOURCE_ENTRIES, 2 * MAX_SOURCE_ENTRIES]);
});
