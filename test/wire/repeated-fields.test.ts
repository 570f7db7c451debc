import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isWireFault } from "../../src/wire/message-parser.ts";
import { RequestParser } from "../../src/wire/request-parser.ts";

const LIMITS = { requestLineBytes: 60, headerBytes: 1500, headerCount: 8, bodyBytes: 50 };

const LINES = ["AGTP/1.0 QUERY", "AGTP/1.0 BOOK /room/7", `AGTP/1.0 QUERY /${"x".repeat(44)}`];
/** Some differ in their last octets only, some are the beginning of another. */
const FIELDS = [
  ...["", "Agent-ID: a\r\n", "Agent-ID: b\r\n", "Agent-ID: a\r\nX-One:  1\r\n"],
  ...["Agent-ID: a\r\nX-One: 1\t\r\n", "Accept: é\r\nAccept: b\r\n", `X: ${"y".repeat(1400)}\r\n`],
];
const BODIES = ["", "{}", '{"a":1}'];
/** Behind these, nothing is framed. */
const FAULTS = [
  ...["AGTP/1.0 QUERY /#\r\n\r\n", `AGTP/1.0 QUERY /${"x".repeat(45)}\r\nAgent-ID: a\r\n\r\n`],
  ...["AGTP/1.0 QUERY\r\nAgent-ID: a\n\r\n", "AGTP/1.0 QUERY\r\nContent-Length: 51\r\n\r\n"],
];

const message = fc
  .tuple(fc.constantFrom(...LINES), fc.constantFrom(...FIELDS), fc.constantFrom(...BODIES))
  .map(([line, fields, body]) => {
    const length = body === "" ? "" : `Content-Length: ${body.length}\r\n`;
    return `${line}\r\n${fields}${length}\r\n${body}`;
  });

function parse(chunks: readonly string[]): readonly unknown[] {
  const parser = new RequestParser(LIMITS);
  const read: unknown[] = [];
  for (const chunk of chunks) {
    parser.push(Buffer.from(chunk, "latin1"));
    for (let next = parser.next(); next !== undefined; next = parser.next()) {
      if (isWireFault(next)) read.push(next);
      else {
        const { headers, body, ...line } = next;
        const names = [...headers].map(([name]) => [name, headers.get(name), headers.has(name)]);
        read.push({ ...line, fields: [...headers], names, body: Buffer.from(body).toString() });
      }
    }
  }
  return read;
}

describe("fields that a connection repeats", () => {
  it("say the same as those of a connection's first message, however the octets are cut", () => {
    const run = fc.tuple(message, fc.integer({ min: 1, max: 6 }));
    const cuts = fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 20 });
    const ends = fc.constantFrom("", ...FAULTS);
    fc.assert(
      fc.property(fc.array(run, { maxLength: 8 }), cuts, ends, (runs, lengths, end) => {
        const messages = runs.flatMap(([one, times]) => new Array<string>(times).fill(one));
        const all = [...messages, ...(end === "" ? [] : [end])];
        let rest = all.join("");
        const chunks: string[] = [];
        for (const length of lengths) {
          chunks.push(rest.slice(0, length));
          rest = rest.slice(length);
        }
        expect(parse([...chunks, rest])).toEqual(all.flatMap((one) => parse([one])));
      }),
    );
  });

  it("are one list for all of its messages, which keeps no chunk alive", () => {
    const parser = new RequestParser(LIMITS);
    const next = () => {
      parser.push(Buffer.from("AGTP/1.0 QUERY /a\r\nAgent-ID: a\r\n\r\n"));
      const read = parser.next();
      if (read === undefined || isWireFault(read)) throw new Error("no request");
      return read.headers;
    };
    const [, , third, fourth] = [next(), next(), next(), next()];
    expect(fourth).toBe(third);
    expect(fourth?.get("agent-id")).toBe("a");
  });
});
