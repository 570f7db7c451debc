import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  EventStreamParser,
  MAX_FRAME_LENGTH,
} from "../../../src/modules/agntcy/runs/run-stream.ts";

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

  it("keeps no more than one frame of bounded length", () => {
    const parser = new EventStreamParser();
    for (let at = 0; at < 10 && !parser.isOverlong; at += 1)
      parser.push("x".repeat(MAX_FRAME_LENGTH / 4));
    expect(parser.isOverlong).toBe(true);
    expect(parser.push("\n\ndata: 1\n\n")).toEqual([]);
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
