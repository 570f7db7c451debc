/** The answers of a control socket while the store does not answer. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import {
  type Controlled,
  listNodes,
  openControl,
  type StatusSource,
} from "../../src/app/control.ts";
import { askControl } from "../../src/client/ask-control.ts";
import { PATIENCE } from "../support/patience.ts";

afterEach(() => vi.useRealTimers());

const LONG_MS = 5_000;

/** A question that nothing answers. */
const silent = () => vi.fn(() => new Promise<never>(() => undefined));

describe("while the store does not answer", () => {
  it("the status is told all the same, sooner than who asks gives up", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const directory = mkdtempSync(join(tmpdir(), "agtpd-control-"));
    const path = join(directory, "control.sock");
    const journal = silent();
    const status = {
      ...{ config: { server: { serverId: "test" } }, isReady: true, problems: [], journal },
      ...{ connectionCount: async () => 0, documentVersion: async () => undefined },
    };
    const daemon: Partial<Controlled> = {
      status: () => status as unknown as StatusSource,
      command: () => undefined,
    };
    const socket = await openControl(path, daemon as Controlled);
    onTestFinished(async () => {
      await socket.close();
      rmSync(directory, { recursive: true });
    });
    const asking = askControl(path, JSON.stringify({ command: "status" }));
    await vi.waitFor(() => expect(journal).toHaveBeenCalled(), PATIENCE);
    await vi.advanceTimersByTimeAsync(LONG_MS);
    expect(JSON.parse(await asking)).toMatchObject({
      result: { ready: true, journal_bytes: null },
    });
  });

  it("a node lists itself, and drains no more than it is asked to", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const source = { isReady: true, address: "127.0.0.1", port: 4480 };
    const listing = listNodes(source, { isFresh: false, node: "a", nodes: silent() });
    await vi.advanceTimersByTimeAsync(LONG_MS);
    expect(await listing).toMatchObject([{ node: "a", state: "lost", lease_ms: null }]);
  });
});
