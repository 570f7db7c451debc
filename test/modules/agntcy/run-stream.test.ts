import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AcpResponse } from "../../../src/modules/agntcy/acp/acp-call.ts";
import {
  EventStreamParser,
  MAX_FRAME_LENGTH,
  RunStream,
} from "../../../src/modules/agntcy/runs/run-stream.ts";
import { cpuMs } from "../../support/cpu-time.ts";

describe("EventStreamParser", () => {
  const stream =
    'id: 1\nevent: agent_event\ndata: {"a":1}\n\n:id: 2\r\nevent: b\r\ndata: x\r\ndata: y\r\n\r\n';

  it("reads frames in whatever pieces they come, keep-alives stuck to them", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(stream.length), { maxLength: 12 }), (cuts) => {
        const parser = new EventStreamParser();
        const at = [0, ...cuts.toSorted((a, b) => a - b), stream.length];
        const frames = at
          .slice(1)
          .flatMap((end, index) => [...parser.push(stream.slice(at[index], end))]);
        expect(frames).toEqual([
          { event: "agent_event", data: '{"a":1}' },
          { event: "b", data: "x\ny" },
        ]);
      }),
    );
  });

  // HTML §9.2.6: a CR ends a line by itself
  it.each([
    ["data:test\r\ndata\ndata:test\r\n\r", ["test\n\ntest"]],
    ["data: x\r\rdata: y\r\r", ["x", "y"]],
    [" data: x\rdata:  y\r: z\r\r", [" y"]],
    ["data\r\r", [""]],
    ["data: x\r", []],
  ])(
    "has the frames of %j as soon as they are there, in one piece and by characters",
    (text, told) => {
      for (const pieces of [[text], [...text]]) {
        const parser = new EventStreamParser();
        const frames = pieces.flatMap((piece) => [...parser.push(piece)]);
        expect(frames.map(({ data }) => data)).toEqual(told);
        expect(parser.push("\n")).toEqual([]);
      }
    },
  );

  it("keeps no more than one frame of bounded length", () => {
    const parser = new EventStreamParser();
    for (let at = 0; at < 10 && !parser.isOverlong; at += 1)
      parser.push("x".repeat(MAX_FRAME_LENGTH / 4));
    expect(parser.isOverlong).toBe(true);
    expect(parser.push("\n\ndata: 1\n\n")).toEqual([]);
  });

  it("takes as long for a frame of single characters as for its length", () => {
    const quickest = (length: number): number => {
      const times = Array.from({ length: 3 }, () => {
        const parser = new EventStreamParser();
        const startedAt = cpuMs();
        for (let at = 0; at < length; at += 1) parser.push("x");
        return cpuMs() - startedAt;
      });
      return Math.min(...times);
    };
    quickest(2_000);
    expect(quickest(128_000)).toBeLessThan(4 * 8 * quickest(16_000));
  });

  it("never throws", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom(":", "\n", "\r", "data", " ", "x") })),
        (chunks) => {
          const parser = new EventStreamParser();
          for (const chunk of chunks) parser.push(chunk);
        },
      ),
    );
  });
});

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
});
