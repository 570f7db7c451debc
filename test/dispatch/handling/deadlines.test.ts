import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  Deadlines,
  type Expiring,
  RunningCalls,
} from "../../../src/dispatch/handling/deadlines.ts";

function entry(expired: string[], name: string): Expiring {
  return {
    startedAt: performance.now(),
    expire: () => void expired.push(name),
    giveUp: () => void expired.push(`${name}, given up`),
  };
}

describe("Deadlines", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("expires what is still there when its time is over, and nothing earlier", () => {
    const expired: string[] = [];
    const deadlines = new Deadlines(100);
    deadlines.add(entry(expired, "first"));
    vi.advanceTimersByTime(60);
    deadlines.add(entry(expired, "second"));
    vi.advanceTimersByTime(39);
    expect(expired).toEqual([]);
    vi.advanceTimersByTime(2);
    expect(expired).toEqual(["first"]);
    vi.advanceTimersByTime(61);
    expect(expired).toEqual(["first", "second"]);
  });

  it("forgets what was deleted in time", () => {
    const expired: string[] = [];
    const deadlines = new Deadlines(100);
    const quick = entry(expired, "quick");
    deadlines.add(quick);
    deadlines.delete(quick);
    vi.advanceTimersByTime(1_000);
    expect(expired).toEqual([]);
  });

  it("needs one timer, however many entries there are, and none when it is empty", () => {
    const deadlines = new Deadlines(100);
    for (let count = 0; count < 50; count += 1) deadlines.add(entry([], "x"));
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(200);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("takes entries again after it was empty", () => {
    const expired: string[] = [];
    const deadlines = new Deadlines(100);
    deadlines.add(entry(expired, "first"));
    vi.advanceTimersByTime(500);
    deadlines.add(entry(expired, "second"));
    vi.advanceTimersByTime(101);
    expect(expired).toEqual(["first", "second"]);
  });

  it("lets an entry be added while another expires", () => {
    const expired: string[] = [];
    const deadlines = new Deadlines(100);
    const chained = entry(expired, "chained");
    deadlines.add({
      ...chained,
      expire: () => deadlines.add({ ...chained, startedAt: performance.now() }),
    });
    vi.advanceTimersByTime(250);
    expect(expired).toEqual(["chained"]);
  });
});

describe("RunningCalls", () => {
  it("gives up what runs, whatever time it has, and nothing that is over", () => {
    const ended: string[] = [];
    const calls = new RunningCalls();
    const done = entry(ended, "done");
    calls.within(100).add(done);
    calls.within(100).add(entry(ended, "first"));
    calls.within(200).add(entry(ended, "second"));
    calls.within(100).delete(done);
    calls.giveUp();
    expect(ended).toEqual(["first, given up", "second, given up"]);
  });
});
