import { EventEmitter } from "node:events";
import type { Pool } from "pg";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PoolEnd } from "../../../src/state/postgres/store.ts";

/** A pool whose connections never end by themselves. */
class SilentPool extends EventEmitter {
  readonly client = { end: vi.fn() };
  readonly end = vi.fn(() => new Promise(() => undefined));
}

describe("PoolEnd", () => {
  beforeEach(
    () => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }),
  );
  afterEach(() => void vi.useRealTimers());

  it("waits for a server as long as it answers, and for a silent one so long", () => {
    const pool = new SilentPool();
    const { client } = pool;
    const onGivenUp = vi.fn();
    new PoolEnd(pool as unknown as Pool).giveUpAfter(3_000, onGivenUp);
    for (let statement = 0; statement < 5; statement += 1) {
      pool.emit("acquire", client);
      vi.advanceTimersByTime(2_500);
      pool.emit("release", false, client);
    }
    pool.emit("acquire", client);
    vi.advanceTimersByTime(2_999);
    expect(onGivenUp).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(onGivenUp).toHaveBeenCalledOnce();
    expect(client.end).toHaveBeenCalledOnce();
  });

  it("takes a statement that failed for no answer", () => {
    const pool = new SilentPool();
    const onGivenUp = vi.fn();
    new PoolEnd(pool as unknown as Pool).giveUpAfter(3_000, onGivenUp);
    pool.emit("acquire", pool.client);
    vi.advanceTimersByTime(2_000);
    pool.emit("release", new Error("cut off"), pool.client);
    vi.advanceTimersByTime(1_000);
    expect(onGivenUp).toHaveBeenCalledOnce();
    expect(pool.client.end).not.toHaveBeenCalled();
  });

  it("ends without the connections that never end, once it was given up", async () => {
    const pool = new SilentPool();
    const end = new PoolEnd(pool as unknown as Pool);
    end.giveUpAfter(3_000, () => undefined);
    const ended = end.end();
    vi.advanceTimersByTime(3_000);
    await ended;
    expect(pool.end).toHaveBeenCalledOnce();
  });
});
