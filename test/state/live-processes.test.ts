import { describe, expect, it } from "vitest";
import { LiveProcesses } from "../../src/state/live-processes.ts";

const set = (...processes: readonly string[]): ReadonlySet<string> => new Set(processes);

describe("the processes that serve", () => {
  it("are gone only where a look that began after the question does not find them", () => {
    const live = new LiveProcesses("self");
    const early = live.look();
    expect(live.isGone("other")).toBe(false);
    early(set("self"));
    expect(live.isGone("other")).toBe(false);
    live.look()(set("self"));
    expect(live.isGone("other")).toBe(true);
  });

  it("never have this one among those that are gone", () => {
    const live = new LiveProcesses("self");
    live.look()(set());
    live.look()(set());
    expect(live.isGone("self")).toBe(false);
  });

  it("may come back", () => {
    const live = new LiveProcesses("self");
    live.isGone("other");
    live.look()(set("self"));
    live.look()(set("self", "other"));
    expect(live.isGone("other")).toBe(false);
  });

  it("are told of when one is gone, whether or not somebody asked about it", () => {
    const live = new LiveProcesses("self");
    let told = 0;
    const forget = live.watch(() => {
      told += 1;
    });
    live.look()(set("self", "known"));
    expect(told).toBe(0);
    live.look()(set("self"));
    expect(told).toBe(1);
    live.isGone("asked");
    live.look()(set("self"));
    expect(told).toBe(2);
    live.look()(set("self"));
    expect(told).toBe(2);
    forget();
    live.isGone("another");
    live.look()(set("self"));
    expect(told).toBe(2);
  });
});
