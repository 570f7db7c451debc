/** Turns of tasks over the nodes of a store. */
import { expect, it } from "vitest";
import { TaskTurns } from "../../../src/modules/agentcli/run/task-turns.ts";
import { SOLE_HOLDER } from "../../../src/state/holders.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import { alterStore } from "../../support/store.ts";

it("is waited for no longer by a task that was given up while another node took it", async () => {
  const memory = createMemoryStore();
  const holdersOf = (self: string) => ({ ...SOLE_HOLDER, self, isGone: () => false });
  const other = await TaskTurns.open(memory, holdersOf("b"));
  const given = new AbortController();
  const turns = await TaskTurns.open(
    alterStore(memory, {
      commit: async (...asked) => {
        // The other node is sooner, and nobody waits for the task any more.
        await other.take("task");
        given.abort();
        return memory.commit(...asked);
      },
    }),
    holdersOf("a"),
  );
  expect(await turns.await("task", { signals: [given.signal] })).toBeUndefined();
});
