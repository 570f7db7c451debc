/** Properties of what two serving nodes live through: the same nodes run after run, and others behind one that failed. */
import type { Channel, ChannelListener } from "node:diagnostics_channel";
import fc from "fast-check";
import { expect } from "vitest";
import { createMemoryStore } from "../../src/state/memory-store.ts";
import { play, stepsOf } from "./hearing-nodes.ts";
import { type FilesByName, ServingNodes } from "./serving-nodes.ts";

/** One run of a property, and what it found. */
interface LivedWorld<Step> {
  readonly wrong: readonly string[];
  /** Takes the handlers that have begun. */
  readonly take: ChannelListener;
  /** The next run needs other nodes. */
  readonly isUnsure?: boolean;
  begin?(scheduler: fc.Scheduler): Promise<void>;
  run(step: Step): Promise<void>;
  end(scheduler: fc.Scheduler): Promise<void>;
}

interface Lives<Step> {
  readonly files: FilesByName;
  /** The names of the modules. */
  readonly modules: readonly string[];
  /** Tells of handlers that begin. */
  readonly begun: Channel;
  /** A step, the most of them, and how often. */
  readonly steps: readonly [step: fc.Arbitrary<Step>, most: number];
  readonly numRuns: number;
  /** So long after a run, what it left is over and forgotten. */
  readonly restMs: number;
  makeWorld(nodes: ServingNodes, clock: { at: number }, run: number): LivedWorld<Step>;
}

/** Lets a world after the other be lived through, each of which has to find nothing wrong. */
export async function liveThrough<Step>(lives: Lives<Step>): Promise<void> {
  const { files, modules, begun, steps: of, numRuns, restMs, makeWorld } = lives;
  const clock = { at: 1_800_000_000_000 };
  const goOn = (): Promise<unknown> => Promise.resolve();
  let pause = goOn;
  const open = async (): Promise<ServingNodes> => {
    const store = createMemoryStore();
    const times = { pause: () => pause(), now: () => clock.at };
    const nodes = new ServingNodes({ store, files, modules, ...times });
    await nodes.start();
    return nodes;
  };
  let nodes = await open();
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), stepsOf(...of), async (scheduler, steps) => {
      runs += 1;
      clock.at += restMs;
      pause = () => scheduler.schedule(Promise.resolve());
      const world = makeWorld(nodes, clock, runs);
      begun.subscribe(world.take);
      let isSound = false;
      try {
        await world.begin?.(scheduler);
        const thrown = await play(scheduler, steps, (step) => world.run(step));
        expect(thrown).toEqual([]);
        await world.end(scheduler);
        expect(world.wrong).toEqual([]);
        isSound = world.isUnsure !== true;
      } finally {
        begun.unsubscribe(world.take);
        pause = goOn;
        if (!isSound) nodes = await open();
      }
    }),
    { numRuns },
  );
}
