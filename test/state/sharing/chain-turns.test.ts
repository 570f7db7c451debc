/** Turns of workers at a chain: one after the other, and none of them for ever. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { ChainTurns } from "../../../src/state/sharing/chain-turns.ts";

const [ALICE, BOB] = ["a".repeat(64), "b".repeat(64)] as const;

/** Asks for a turn, and notes when it has begun. */
function ask(turns: ChainTurns<string>, begun: string[], agentId: string, worker: string) {
  return turns.begin(agentId, worker).then(() => {
    begun.push(`${worker} ${agentId[0]}`);
  });
}

it("come in the order in which they were asked for, chain by chain", async () => {
  const turns = new ChainTurns<string>();
  const begun: string[] = [];
  expect(turns.isEmpty).toBe(true);
  for (const worker of ["one", "two", "three"]) void ask(turns, begun, ALICE, worker);
  void ask(turns, begun, BOB, "two");
  await nextTurn();
  expect(begun).toEqual(["one a", "two b"]);
  // Those of others go on.
  turns.end([ALICE, BOB], "three");
  await nextTurn();
  expect(begun).toHaveLength(2);
  for (const worker of ["one", "two", "three"]) {
    turns.end([ALICE, BOB], worker);
    await nextTurn();
  }
  expect(begun).toEqual(["one a", "two b", "two a", "three a"]);
  expect(turns.isEmpty).toBe(true);
});

it("end by themselves where a worker stands still", async () => {
  const turns = new ChainTurns<string>();
  const begun: string[] = [];
  await ask(turns, begun, ALICE, "still");
  await ask(turns, begun, ALICE, "next");
  await ask(turns, begun, ALICE, "last");
  expect(begun).toEqual(["still a", "next a", "last a"]);
  // One that is late ends nobody else's.
  turns.end([ALICE], "still");
  expect(turns.isEmpty).toBe(false);
  turns.end([ALICE], "last");
  expect(turns.isEmpty).toBe(true);
});
