/** When a run is begun. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { RunWorker } from "../../../../src/modules/openwop/runs/run-worker.ts";
import type { RunParts } from "../../../../src/modules/openwop/runs/workflow-runs.ts";

it("is begun in a turn of its own, after that in which it was asked for", async () => {
  let isClaimed = false;
  const claim = async (): Promise<boolean> => {
    isClaimed = true;
    return false;
  };
  const parts = { register: { claim }, limits: { concurrent: 1 } } as unknown as RunParts;
  const executed = new RunWorker(parts).execute("r1", new AbortController());
  // All that can follow at once has followed.
  await new Promise((resolve) => process.nextTick(resolve));
  expect(isClaimed).toBe(false);
  await nextTurn();
  await executed;
  expect(isClaimed).toBe(true);
});
