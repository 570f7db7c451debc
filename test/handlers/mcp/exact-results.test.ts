import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { markAnswer, markEvents, ResultReader } from "../../../src/handlers/mcp/exact-results.ts";
import { growthOf, NEARLY_LINEAR } from "../../support/growth.ts";

const LONG = '{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"id":9007199254740993}}}';

function messagesOf(reader: ResultReader): readonly unknown[] {
  const messages: unknown[] = [];
  for (let one = reader.readMessage(); one !== null; one = reader.readMessage()) messages.push(one);
  return messages;
}

// RFC 8259 §6
describe("a message of an MCP server", () => {
  it.each([
    // A definition is pinned as its server gave it.
    '{"result":{"tools":[{"name":"structuredContent","inputSchema":{"maximum":9223372036854775807}}]}}',
    '{"result":{"structuredContent":{"id":9007199254740992}},"note":"9007199254740993 1e400"}',
    '{"result":{"content":[9007199254740993]}}',
    '{"result":{"structuredContent":9007199254740993',
  ])("is what it was, but for the results of tools: %s", (json) => {
    const octets = Buffer.from(json);
    expect(markAnswer(octets)).toBe(octets);
    const events = Buffer.from(`id: 12345678901234567890\r\ndata: ${json}\r\n\r\n`);
    expect(markEvents(events).equals(events)).toBe(true);
  });

  it("has texts in the place of numbers on the lines of its data alone", () => {
    const [id, data, ...rest] = markEvents(
      Buffer.from(`id: 12345678901234567890\ndata: ${LONG}\n\n`),
    )
      .toString()
      .split("\n");
    expect([id, ...rest]).toEqual(["id: 12345678901234567890", "", ""]);
    const { result } = JSON.parse(data?.slice(5) ?? "");
    expect(result.structuredContent.id).toMatch(/ 9007199254740993$/);
  });

  it("is none where it is not UTF-8", () => {
    const octets = Buffer.from('{"result":{"content":"caf\xe9"}}', "latin1");
    expect(() => markAnswer(octets)).toThrow(SyntaxError);
    expect(() => markEvents(octets)).toThrow(SyntaxError);
  });
});

describe("ResultReader", () => {
  const lines = [
    '{"jsonrpc":"2.0","method":"a"}',
    LONG,
    "no JSON",
    '{"jsonrpc":"2.0","method":"é"}',
  ];
  const octets = Buffer.from(lines.map((line) => `${line}\n`).join(""));

  it("reads the same messages however they come", () => {
    const whole = new ResultReader(octets.length);
    whole.append(octets);
    const expected = messagesOf(whole);
    expect(expected).toHaveLength(3);
    const cuts = fc.array(fc.nat({ max: octets.length }), { maxLength: 12 });
    fc.assert(
      fc.property(cuts, (some) => {
        const places = [0, ...some.toSorted((one, other) => one - other), octets.length];
        const reader = new ResultReader(octets.length);
        const messages = places.slice(1).flatMap((to, index) => {
          reader.append(octets.subarray(places[index], to));
          return messagesOf(reader);
        });
        expect(messages).toEqual(expected);
      }),
    );
  });

  it("refuses a line that is too long, and begins anew once it is cleared", () => {
    const reader = new ResultReader(64);
    reader.append(Buffer.alloc(64, "x"));
    expect(() => reader.append(Buffer.from("x"))).toThrow("longer than 64 bytes");
    reader.append(Buffer.from(`${lines[0]}\n`));
    expect(messagesOf(reader)).toHaveLength(1);
  });

  it("counts what comes with the end of a line to the next one", () => {
    const line = `${lines[0]}\n`;
    const reader = new ResultReader(line.length);
    reader.append(Buffer.from(line.slice(0, -1)));
    reader.append(Buffer.from(`\n${line.slice(0, -1)}`));
    expect(messagesOf(reader)).toHaveLength(1);
    expect(() => reader.append(Buffer.from("xx"))).toThrow(`longer than ${line.length} bytes`);
  });

  it.each(["1", "1e400"])(
    "has an error in the place of an answer that is too deep: %s",
    (number) => {
      const reader = new ResultReader(100_000);
      const deep = "[".repeat(20_000) + number + "]".repeat(20_000);
      const answer = `"id":7,"result":{"content":[],"structuredContent":{"x":${deep}}}`;
      reader.append(Buffer.from(`{"jsonrpc":"2.0",${answer}}\n${lines[0]}\n`));
      expect(messagesOf(reader)).toEqual([
        { jsonrpc: "2.0", id: 7, error: { code: -32_098, message: expect.any(String) } },
        JSON.parse(lines[0] ?? ""),
      ]);
    },
  );

  it("passes over empty lines in proportion", async () => {
    const read = (size: number): void => {
      const reader = new ResultReader(64);
      reader.append(Buffer.alloc(size, "\n"));
      expect(messagesOf(reader)).toHaveLength(0);
    };
    expect(await growthOf(read, 2_048)).toBeLessThan(NEARLY_LINEAR);
  });
});
