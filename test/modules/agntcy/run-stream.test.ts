import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { AcpResponse } from "../../../src/modules/agntcy/acp/acp-call.ts";
import { RunStream } from "../../../src/modules/agntcy/runs/run-stream.ts";

describe("RunStream", () => {
  it("lets others have their turn while a server floods it with small events", async () => {
    const events = Buffer.from('data: {"type":"values","values":1}\n\n'.repeat(2_000));
    const response = { body: Array.from({ length: 20 }, () => events) } as unknown as AcpResponse;
    const client = { shield: (text: string) => text };
    const stream = new RunStream(client, () => Promise.resolve(response));
    let isOver = false;
    void stream.ended.then(() => {
      isOver = true;
    });
    let turns = 0;
    for (; !isOver; turns += 1) await nextTurn();
    expect(turns).toBeGreaterThan(100);
  });

  it("hears nothing behind an event that is too long", async () => {
    let taken = 0;
    function* endless(): Generator<Buffer> {
      for (; ; taken += 1) yield Buffer.from(taken === 0 ? "data: x" : "x".repeat(4_096));
    }
    const response = { body: endless() } as unknown as AcpResponse;
    const client = { shield: (text: string) => text };
    const stream = new RunStream(client, () => Promise.resolve(response));
    expect(await stream.ended).toBe(false);
    expect(taken).toBe(262_144 / 4_096);
  });

  it("reads a line that a keep-alive sticks to", async () => {
    const text = ':data: {"type":"custom","run_id":"r","update":1}\n\n::';
    const response = { body: [Buffer.from(text)] } as unknown as AcpResponse;
    const client = { shield: (one: string) => one };
    const stream = new RunStream(client, () => Promise.resolve(response));
    expect(await stream.runId).toBe("r");
    expect(await stream.ended).toBe(true);
  });
});
