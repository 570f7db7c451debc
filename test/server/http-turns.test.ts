/** The turns of the requests that one HTTP connection has sent at once. */
import { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { HttpTurns, type Turn } from "../../src/server/http-turns.ts";

it("begins one request in a turn of the loop, and all in their order", async () => {
  const turns = new HttpTurns(new Socket());
  const begun: number[] = [];
  const first: Turn = { isComplete: () => true, begin: () => undefined };
  turns.take(first, 64);
  for (let index = 0; index < 50; index += 1) {
    const turn: Turn = {
      isComplete: () => true,
      // Answered at once, as a refusal is.
      begin: () => {
        begun.push(index);
        turns.over(turn);
      },
    };
    turns.take(turn, 64);
  }
  turns.over(first);
  await setImmediate();
  expect(begun.length).toBeLessThan(3);
  while (!turns.isIdle) await setImmediate();
  expect(begun).toEqual(Array.from({ length: 50 }, (_, index) => index));
});

it("begins nothing for a peer that has left", async () => {
  const socket = new Socket();
  const turns = new HttpTurns(socket);
  const begin = vi.fn();
  const first: Turn = { isComplete: () => true, begin: () => undefined };
  turns.take(first, 64);
  turns.take({ isComplete: () => true, begin }, 64);
  turns.over(first);
  socket.destroy();
  await setImmediate();
  await setImmediate();
  expect(begin).not.toHaveBeenCalled();
});
