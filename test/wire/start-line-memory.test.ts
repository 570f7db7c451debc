import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StartLineMemory } from "../../src/wire/message-parser.ts";
import { RequestParser } from "../../src/wire/request-parser.ts";

const LIMITS = { requestLineBytes: 8192, headerBytes: 65_536, headerCount: 128, bodyBytes: 1024 };

describe("StartLineMemory", () => {
  function createMemory() {
    const memory = new StartLineMemory<string>();
    const meet = (line: string): boolean => {
      const bytes = Buffer.from(line);
      const isAgain = memory.note(bytes, 0, bytes.length);
      if (isAgain) memory.keep(bytes, 0, bytes.length, line);
      return isAgain;
    };
    const find = (line: string) => {
      const bytes = Buffer.from(`before${line}behind`);
      return memory.find(bytes, 6, line.length);
    };
    return { meet, find };
  }

  it("knows a line from its second time on, wherever it stands", () => {
    const { meet, find } = createMemory();
    expect([meet("AGTP/1.0 BOOK /room"), find("AGTP/1.0 BOOK /room")]).toEqual([false, undefined]);
    expect([meet("AGTP/1.0 BOOK /room"), find("AGTP/1.0 BOOK /room")]).toEqual([
      true,
      "AGTP/1.0 BOOK /room",
    ]);
  });

  it("never takes a line for another, however many there are", () => {
    const line = fc.string({ unit: fc.constantFrom("a", "b", "/"), maxLength: 12 });
    fc.assert(
      fc.property(fc.array(line, { maxLength: 60 }), (lines) => {
        const { meet, find } = createMemory();
        for (const one of lines) {
          meet(one);
          expect([undefined, one]).toContain(find(one));
        }
      }),
      { numRuns: 300 },
    );
  });

  it("keeps no line that is long", () => {
    const { meet, find } = createMemory();
    const long = `AGTP/1.0 BOOK /${"r".repeat(200)}`;
    expect([meet(long), meet(long), find(long)]).toEqual([false, false, undefined]);
  });
});

describe("RequestParser", () => {
  it("reads a line that comes again on any connection as the first time, with fields of its own", () => {
    for (let time = 0; time < 4; time += 1) {
      const parser = new RequestParser(LIMITS);
      parser.push(Buffer.from(`AGTP/1.0 QUERY /again?a=1\r\nTask-ID: ${time}\r\n\r\n`));
      const message = parser.next();
      expect(message).toMatchObject({ method: "QUERY", path: "/again", query: "a=1" });
      if (message === undefined || "kind" in message) throw new Error("it is a request");
      expect([...message.headers]).toEqual([["task-id", String(time)]]);
    }
  });

  it("reads lines that differ in their query as if each came first", () => {
    const part = fc.constantFrom("", "QUERY", "/", "/differs", "?", "a=1", " ", "#", "\u00e9");
    const line = fc.array(part, { maxLength: 5 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 8 }), (rests) => {
        for (const rest of [...rests, ...rests, ...rests]) {
          const parser = new RequestParser(LIMITS);
          parser.push(Buffer.from(`AGTP/1.0 ${rest}\r\n\r\n`, "latin1"));
          const read = parser.next();
          const [, method, target] = /^((?:QUERY)+)(?: ([^ #\u00e9]+))?$/.exec(rest) ?? [];
          if (method === undefined) expect(read).toMatchObject({ code: "invalid-request-line" });
          else {
            const [path, ...query] = (target ?? "/").split("?");
            expect(read).toMatchObject({ method, path });
            expect(read).toHaveProperty("query", query.length === 0 ? undefined : query.join("?"));
          }
        }
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ["a line without a target", "AGTP/1.0 M", "AGTP/1.0 M?a=1"],
    ["a line whose path is empty", "AGTP/1.0 M ?a=1", "AGTP/1.0 M "],
    ["a line with a query", "AGTP/1.0 M /x?a=1", "AGTP/1.0 M /x?a=#1"],
  ])("takes no part of %s for the beginning of another", (_, line, other) => {
    const read = [line, line, line, other].map((one) => {
      const parser = new RequestParser(LIMITS);
      parser.push(Buffer.from(`${one}\r\n\r\n`));
      return parser.next();
    });
    expect(read[2]).toEqual(read[0]);
    expect(read[3]).toMatchObject({ kind: "wire-fault", code: "invalid-request-line" });
  });

  it("refuses a line that comes again as the first time", () => {
    const faults = [1, 2, 3].map(() => {
      const parser = new RequestParser(LIMITS);
      parser.push(Buffer.from("AGTP/1.0 QUERY  /two\r\n\r\n"));
      return parser.next();
    });
    expect(faults[0]).toMatchObject({ kind: "wire-fault", code: "invalid-request-line" });
    expect(faults).toEqual([faults[0], faults[0], faults[0]]);
  });
});
