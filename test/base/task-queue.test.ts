/** One queue for all that takes long: fair by owner, in slices. */

import { describe, expect, it } from "vitest";
import {
  type TaskMeter,
  type TaskOwner,
  TaskQueue,
  THE_SERVER,
} from "../../src/base/task-queue.ts";
import { countTurns } from "../support/event-loop.ts";

const NEVER = new AbortController().signal;

/** A queue whose time is the work that is done in it: each step takes one millisecond. */
function pacedQueue(sliceMs = 4) {
  const done: string[] = [];
  const queue = new TaskQueue({ sliceMs, now: () => done.length });
  const work = function* (name: string, steps: number): Generator<undefined, string> {
    for (let step = 0; step < steps; step += 1) {
      done.push(name);
      yield;
    }
    return name;
  };
  const run = (owner: TaskOwner, steps: number): Promise<string> =>
    queue.pace(work(owner.key, steps), owner, NEVER);
  return { queue, done, run, work };
}

const stranger = (at: number | string): TaskOwner => ({ key: `stranger ${at}`, isKnown: false });
const agent = (name: string): TaskOwner => ({ key: name, isKnown: true });

// `[limits]`, AGTP "SUMMARIZE"
describe("TaskQueue", () => {
  it("lets everything else have a round after each slice", async () => {
    const { run } = pacedQueue();
    const loop = countTurns();
    await run(agent("ina"), 400);
    loop.stop();
    expect(loop.turns).toBeGreaterThanOrEqual(99);
  });

  it("leaves four fifths of the time to everything else, as long as it is made use of", async () => {
    let now = 0;
    let served = 0;
    let isBusy = true;
    const serve = (): void => {
      served += 1;
      now += 1;
      if (isBusy) setImmediate(serve);
    };
    setImmediate(serve);
    const queue = new TaskQueue({ sliceMs: 4, now: () => now });
    const steps = function* (count: number): Generator<undefined, void> {
      for (let step = 0; step < count; step += 1) {
        now += 1;
        yield;
      }
    };
    await queue.pace(steps(400), THE_SERVER, NEVER);
    isBusy = false;
    expect(served).toBeGreaterThanOrEqual(4 * 396);
    expect(served).toBeLessThanOrEqual(4 * 400 + 8);
  });

  it("begins nothing in the turn that asks for it", async () => {
    const { done, run } = pacedQueue();
    const running = run(agent("ina"), 1);
    await Promise.resolve();
    expect(done).toEqual([]);
    await running;
    expect(done).toEqual(["ina"]);
  });

  it.each([4, 10, 40, 100])(
    "delays an agent's %i steps among strangers by no more than as many",
    async (steps) => {
      const { done, run } = pacedQueue();
      const heavy = Array.from({ length: 12 }, (_, at) => run(stranger(at), 1000));
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
      const before = done.length;
      await run(agent("ina"), steps);
      expect(done.slice(before).filter((name) => name === "ina")).toHaveLength(steps);
      expect(done.length - before).toBeLessThanOrEqual(2 * steps + 4);
      await Promise.all(heavy);
    },
  );

  it("shares evenly among strangers, however much one of them asks for", async () => {
    const { done, run } = pacedQueue();
    const many = Array.from({ length: 20 }, () => run(stranger("greedy"), 100));
    await run(stranger("modest"), 40);
    expect(done.length).toBeLessThanOrEqual(88);
    await Promise.all(many);
  });

  it("has tasks of the server take turns: a short one does not wait for all of a long one", async () => {
    const { done, run } = pacedQueue();
    const index = run(THE_SERVER, 1000);
    await run(THE_SERVER, 40);
    expect(done.length).toBeLessThanOrEqual(84);
    await index;
    const own = run(agent("ina"), 100);
    const from = done.length;
    await run(agent("ina"), 4);
    expect(done.length - from).toBe(104);
    await own;
  });

  it("owes nobody for the time when it asked for nothing", async () => {
    const { done, run } = pacedQueue();
    await run(stranger(1), 1000);
    const late = run(agent("ina"), 100);
    await run(stranger(2), 40);
    expect(done.slice(1000).length).toBeLessThanOrEqual(88);
    await late;
  });

  it("does small things together, and each owner's in their order", async () => {
    const queue = new TaskQueue({ sliceMs: 1000 });
    const loop = countTurns();
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 20 }, (_, at) => queue.run(() => order.push(at), agent("ina"))),
    );
    loop.stop();
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(loop.turns).toBeLessThanOrEqual(2);
  });

  it("has room for so many of each owner", async () => {
    const { queue, run } = pacedQueue();
    const waiting: Promise<string>[] = [];
    while (queue.hasRoom(stranger(1))) waiting.push(run(stranger(1), 1));
    expect(waiting).toHaveLength(32);
    expect(queue.hasRoom(stranger(2))).toBe(true);
    await Promise.all(waiting);
    expect(queue.hasRoom(stranger(1))).toBe(true);
  });

  it("gives up what nobody waits for, and goes on", async () => {
    const { queue, done, run, work } = pacedQueue();
    const leaving = new AbortController();
    const left = queue.pace(work("left", 1000), stranger(1), leaving.signal);
    const stays = run(stranger(2), 8);
    leaving.abort(new Error("the caller left"));
    await expect(left).rejects.toThrow("the caller left");
    await stays;
    expect(done).not.toContain("left");
  });

  it("has each owner pay for its own", async () => {
    const paid = new Map<string, number>();
    let now = 0;
    const meter: TaskMeter = {
      slice: (payer, work, startedAt) => {
        const done = work();
        const { key } = payer();
        paid.set(key, (paid.get(key) ?? 0) + now - startedAt);
        return done;
      },
    };
    const queue = new TaskQueue({ sliceMs: 4, now: () => now, meter });
    const cost = (ms: number) => (): void => {
      now += ms;
    };
    await Promise.all([queue.run(cost(7), agent("ina")), queue.run(cost(2), stranger(1))]);
    expect([...paid]).toEqual([
      ["ina", 7],
      ["stranger 1", 2],
    ]);
  });
});
