import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EventReader } from "../../src/base/event-stream.ts";
import { growthOf, NEARLY_LINEAR } from "../support/growth.ts";

describe("EventReader", () => {
  const stream =
    'id: 1\nevent: agent_event\ndata: {"a":1}\n\n:id: 2\r\nevent: b\r\ndata: x\r\ndata: y\r\n\r\n';

  it("reads events in whatever pieces they come, in lines that are mended", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(stream.length), { maxLength: 12 }), (cuts) => {
        const reader = new EventReader((line) => line.replace(/^:/, ""));
        const at = [0, ...cuts.toSorted((a, b) => a - b), stream.length];
        const events = at
          .slice(1)
          .flatMap((end, index) => [...reader.push(stream.slice(at[index], end))]);
        expect(events).toEqual([
          { id: "1", event: "agent_event", data: '{"a":1}' },
          { id: "2", event: "b", data: "x\ny" },
        ]);
        expect(reader.length).toBe(0);
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
    "has the events of %j as soon as they are there, in one piece and by characters",
    (text, told) => {
      for (const pieces of [[text], [...text]]) {
        const reader = new EventReader();
        const events = pieces.flatMap((piece) => [...reader.push(piece)]);
        expect(events.map(({ data }) => data)).toEqual(told);
        expect([...reader.push("\n")]).toEqual([]);
      }
    },
  );

  it("says how much it keeps of an event", () => {
    const reader = new EventReader();
    for (const chunk of ["data: ab", "c\nevent: d\n", "da"])
      expect([...reader.push(chunk)]).toEqual([]);
    expect(reader.length).toBe("abc".length + "d".length + "da".length);
  });

  it("takes as long for an event of single characters as for its length", async () => {
    const read = (length: number): void => {
      const reader = new EventReader();
      for (let at = 0; at < length; at += 1) [...reader.push("x")];
    };
    read(2_000);
    expect(await growthOf(read, 8_000)).toBeLessThan(NEARLY_LINEAR);
  });

  it("never throws", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom(":", "\n", "\r", "data", " ", "x") })),
        (chunks) => {
          const reader = new EventReader();
          for (const chunk of chunks) [...reader.push(chunk)];
        },
      ),
    );
  });
});
