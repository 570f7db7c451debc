import { describe, expect, it } from "vitest";
import { ProcessDispatches } from "../../src/handlers/processes/pending-calls.ts";
import type { ProcessCall } from "../../src/handlers/processes/process-call.ts";

/** Requests of a process that reads nothing, each of which is answered with a text of so many characters. */
async function askWithoutReading(count: number, length: number): Promise<number> {
  const body = "x".repeat(length);
  const call = { dispatch: () => Promise.resolve({ status: 200, body }) };
  let floods = 0;
  const dispatches = new ProcessDispatches(
    { find: () => call as unknown as ProcessCall },
    () => undefined,
    () => {
      floods += 1;
    },
  );
  const params = { call: 1, method: "QUERY", path: "/things" };
  for (let id = 0; id < count; id += 1) dispatches.take(id, params);
  await new Promise((resolve) => setImmediate(resolve));
  return floods;
}

describe("ProcessDispatches", () => {
  it("hears of a process that leaves few answers unread, which are long", async () => {
    expect(await askWithoutReading(8, 8_000_000)).toBe(0);
    expect(await askWithoutReading(9, 8_000_000)).toBe(1);
  });

  it("hears nothing of one answer, however long", async () => {
    expect(await askWithoutReading(1, 80_000_000)).toBe(0);
  });
});
