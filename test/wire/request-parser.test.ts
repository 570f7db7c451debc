import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Request, WireFault } from "../../src/wire/message.ts";
import { isWireFault } from "../../src/wire/message-parser.ts";
import { RequestParser } from "../../src/wire/request-parser.ts";

const LIMITS = { requestLineBytes: 100, headerBytes: 200, headerCount: 8, bodyBytes: 50 };

function parser(...chunks: (string | Buffer)[]): RequestParser {
  const created = new RequestParser(LIMITS);
  for (const chunk of chunks) created.push(bytes(chunk));
  return created;
}

function bytes(text: string | Buffer): Buffer {
  return typeof text === "string" ? Buffer.from(text, "latin1") : text;
}

function requestOf(text: string): Request {
  const message = parser(text).next();
  if (message === undefined || isWireFault(message)) throw new Error(JSON.stringify(message));
  return message;
}

function faultOf(text: string): WireFault {
  const message = parser(text).next();
  if (message === undefined || !isWireFault(message)) throw new Error("expected a fault");
  return message;
}

const withFields = (fields: string): string => `AGTP/1.0 QUERY /\r\n${fields}\r\n`;

// AGTP "Wire Format"
describe("the request line", () => {
  it.each([
    ["AGTP/1.0 DISCOVER", "DISCOVER", "/", undefined],
    ["AGTP/1.0 BOOK /room/42", "BOOK", "/room/42", undefined],
    ["AGTP/1.0 QUERY /facts?q=a%20b", "QUERY", "/facts", "q=a%20b"],
    ["AGTP/1.0 QUERY /facts?", "QUERY", "/facts", ""],
    ["AGTP/1.0 QUERY /facts?a=?/&b", "QUERY", "/facts", "a=?/&b"],
    ["AGTP/1.0 QUERY ?a", "QUERY", "", "a"],
  ])("reads %j", (line, method, path, query) => {
    expect(requestOf(`${line}\r\n\r\n`)).toMatchObject({ method, path, query });
  });

  it.each([
    "AGTP/1.0 book /",
    "AGTP/1.0 X-NEGOTIATE /",
    "AGTP/1.0 Q!$%&'*+.^_`|~9 /",
    "AGTP/1.0 QUERY room",
    "AGTP/1.0 QUERY /room/",
    "AGTP/1.0 QUERY /{id}",
    "AGTP/1.0 QUERY /%zz",
    "AGTP/1.0 QUERY //x",
    'AGTP/1.0 QUERY /"<>\\^`|',
  ])("leaves %j to the gates", (line) => {
    const [, method, path] = line.split(" ");
    expect(requestOf(`${line}\r\n\r\n`)).toMatchObject({ method, path });
  });

  it.each([
    "",
    " ",
    "AGTP/1.0",
    "AGTP/1.0 ",
    "AGTP/1.0  /",
    "AGTP/1.0  QUERY /",
    "AGTP/1.0 QUERY ",
    "AGTP/1.0 QUERY  /",
    "AGTP/1.0 QUERY / ",
    "AGTP/1.0 QUERY / x",
    " AGTP/1.0 QUERY /",
    "AGTP/1.1 QUERY /",
    "agtp/1.0 QUERY /",
    "HTTP/1.1 GET /",
    "GET / HTTP/1.1",
    "AGTP/1.0\tQUERY /",
    "AGTP/1.0 QUERY /a\tb",
    "AGTP/1.0 QUERY /\0",
    "AGTP/1.0 QUERY /\x7f",
    "AGTP/1.0 QUERY /caf\xe9",
    "AGTP/1.0 QU\xc9RY /",
    "AGTP/1.0 QUERY /#top",
    "AGTP/1.0 QUERY /?a#b",
    "AGTP/1.0 QUE#RY /",
    "AGTP/1.0 QUE(RY /",
    "AGTP/1.0 QUE/RY /",
    'AGTP/1.0 "QUERY" /',
  ])("refuses %j before any header arrives", (line) => {
    expect(faultOf(`${line}\r\n`).code).toBe("invalid-request-line");
  });

  it.each([
    ["a bare LF at its end", "AGTP/1.0 QUERY /\n"],
    ["a bare LF first", "\n"],
    ["a bare CR, without waiting for a line end", "AGTP/1.0 QUERY /\rA"],
    ["two CRs", "AGTP/1.0 QUERY /\r\r"],
    ["a control byte, without waiting for a line end", "AGTP/1.0 QU\x01"],
  ])("refuses %s", (_, text) => {
    expect(faultOf(text).code).toBe("invalid-request-line");
  });

  it("says what was expected, and quotes no more than a piece of what came", () => {
    const { message } = faultOf(`${"H".repeat(80)} GET /\r\n`);
    expect(message).toMatch(/^expected AGTP\/1\.0 first, got "H{40}…"$/);
  });

  it("takes a line of exactly the limit, and refuses one more octet as soon as it is seen", () => {
    const start = "AGTP/1.0 QUERY /";
    const longest = start + "a".repeat(LIMITS.requestLineBytes - start.length);
    expect(requestOf(`${longest}\r\n\r\n`).path).toHaveLength(longest.length - 15);
    expect(parser(longest).next()).toBeUndefined();
    expect(faultOf(`${longest}a`).code).toBe("request-line-too-long");
    expect(faultOf(`${longest}a\r\n\r\n`).code).toBe("request-line-too-long");
  });

  it("is judged before the headers behind it", () => {
    expect(faultOf("HTTP/1.1 GET /\r\nno colon\n").code).toBe("invalid-request-line");
  });
});

// AGTP "Wire Format", RFC 9110 §5
describe("header fields", () => {
  it("are found by lower-case name, without optional white space", () => {
    const { headers } = requestOf(
      withFields("AGENT-id:\t a b \t\r\nX-Odd~Name:1\r\nEmpty:\r\nBlank: \t \r\n"),
    );
    expect([...headers]).toEqual([
      ["agent-id", "a b"],
      ["x-odd~name", "1"],
      ["empty", ""],
      ["blank", ""],
    ]);
  });

  it("may hold HTAB, colons and latin1, which is kept", () => {
    const { headers } = requestOf(withFields("A: x\ty:z\r\nB: \xa0caf\xe9\x80\xa0\r\n"));
    expect(headers.get("a")).toBe("x\ty:z");
    expect(headers.get("b")).toBe("\xa0caf\xe9\x80\xa0");
  });

  it("are joined in order when repeated, in any case", () => {
    const { headers } = requestOf(
      withFields("Authority-Scope: a:b\r\nX: 1\r\nauthority-scope: c:d\r\nX:\r\nX: 3\r\n"),
    );
    expect(headers.get("authority-scope")).toBe("a:b, c:d");
    expect(headers.get("x")).toBe("1, , 3");
  });

  it("may be called like properties of objects", () => {
    const { headers } = requestOf(withFields("__proto__: 1\r\nconstructor: 2\r\n"));
    expect(headers.get("__proto__")).toBe("1");
    expect(headers.get("constructor")).toBe("2");
    expect(headers.get("toString")).toBeUndefined();
  });

  it.each([
    ["agent-id", "Agent-ID"],
    ["allow-rcns", "Allow-RCNS"],
    ["authorization", "Authorization"],
    ["content-type", "Content-Type"],
    ["contract-synthesized", "Contract-Synthesized"],
    ["idempotency-key", "Idempotency-Key"],
    ["negotiation-id", "Negotiation-ID"],
    ["owner-id", "Owner-ID"],
    ["request-id", "Request-ID"],
    ["session-id", "Session-ID"],
    ["synthesis-id", "Synthesis-Id"],
    ["task-id", "Task-ID"],
  ])("refuse a second %s, equal or not", (lower, written) => {
    const fault = faultOf(withFields(`${written}: a\r\nX: 1\r\n${lower}: a\r\n`));
    expect(fault.code).toBe("invalid-wire-format");
    expect(fault.message).toContain(lower);
  });

  it.each([
    ["a line without a colon", "Agent-ID\r\n"],
    ["an empty name", ": x\r\n"],
    ["a space before the colon", "Agent-ID : x\r\n"],
    ["a space in the name", "Agent ID: x\r\n"],
    ["a leading space", " Agent-ID: x\r\n"],
    ["a folded line", "A: x\r\n y\r\n"],
    ["a line folded by HTAB", "A: x\r\n\ty\r\n"],
    ["a field behind a HTAB", "A: x\r\n\tB: y\r\n"],
    ["a name with latin1", "Ag\xe9nt: x\r\n"],
    ["a name with a slash", "A/B: x\r\n"],
    ["a control byte in a name", "A\x01: x\r\n"],
    ["NUL in a value", "A: x\0y\r\n"],
    ["DEL in a value", "A: x\x7f\r\n"],
    ["a bare LF", "A: x\nB: y\r\n"],
    ["a bare LF in a name", "A\nB: y\r\n"],
    ["a bare CR", "A: x\rB: y\r\n"],
    ["a bare CR in a name", "A\rB: y\r\n"],
    ["two CRs", "A: x\r\r\n"],
  ])("refuse %s", (_, fields) => {
    expect(faultOf(withFields(fields)).code).toBe("invalid-wire-format");
  });

  it.each([
    ["a bare LF for a line end", "AGTP/1.0 QUERY /\r\nA: x\n"],
    ["a bare LF for the empty line", "AGTP/1.0 QUERY /\r\n\n"],
    ["a bare CR for the empty line", "AGTP/1.0 QUERY /\r\n\rA"],
    ["a control byte", "AGTP/1.0 QUERY /\r\nA: \x02"],
    ["a name that is no token", "AGTP/1.0 QUERY /\r\nA B"],
  ])("refuse %s as soon as it is seen", (_, text) => {
    expect(faultOf(text).code).toBe("invalid-wire-format");
  });

  it("may be as many as the limit, and no more", () => {
    const most = "A: 1\r\n".repeat(LIMITS.headerCount);
    expect(requestOf(withFields(most)).headers.size).toBe(1);
    const fault = faultOf(`AGTP/1.0 QUERY /\r\n${most}A`);
    expect(fault.code).toBe("header-too-large");
    expect(fault.message).toContain("8 header fields");
  });

  it("may take as many octets as the limit, and no more", () => {
    const fits = `A: ${"x".repeat(LIMITS.headerBytes - 5)}\r\n`;
    expect(requestOf(withFields(fits)).headers.size).toBe(1);
    expect(faultOf(withFields(`A${fits}`)).code).toBe("header-too-large");
    expect(faultOf(withFields(`${fits}B: 1\r\n`)).code).toBe("header-too-large");
  });

  it("are refused for size at the first octet that makes it certain", () => {
    const start = `AGTP/1.0 QUERY /\r\nA: ${"x".repeat(LIMITS.headerBytes - 5)}`;
    expect(parser(start).next()).toBeUndefined();
    const fault = faultOf(`${start}x`);
    expect(fault).toMatchObject({ code: "header-too-large" });
    expect(fault.message).toContain("200 octets");
  });
});

// AGTP "Wire Format": Content-Length is the only completion signal.
describe("framing", () => {
  it("reads Content-Length octets, whatever they are", () => {
    const body = "\0\r\n\r\n\xff";
    expect(requestOf(withFields(`Content-Length: ${body.length}\r\n`) + body).body).toEqual(
      Buffer.from(body, "latin1"),
    );
  });

  it.each(["", "Content-Length: 0\r\n", "Content-Length: 000\r\n"])(
    "has no body with %j",
    (line) => {
      expect(requestOf(withFields(line)).body).toHaveLength(0);
    },
  );

  it.each([
    "Content-Length: -1",
    "Content-Length: +1",
    "Content-Length: 1.0",
    "Content-Length: 0x1",
    "Content-Length: 1e1",
    "Content-Length: 1, 1",
    "Content-Length: 1 1",
    "Content-Length: \xb2",
    "Content-Length:",
    "Content-Length: 1\r\nContent-Length: 1",
    "Content-Length: 1\r\ncontent-length: 2",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: identity\r\nContent-Length: 1",
    "transfer-encoding:",
  ])("refuses %j", (lines) => {
    expect(faultOf(withFields(`${lines}\r\n`)).code).toBe("invalid-framing");
  });

  it.each(["51", "0051", "9007199254740993", "1".repeat(150)])(
    "refuses a body of %s octets before it arrives",
    (length) => {
      const { code } = faultOf(withFields(`Content-Length: ${length}\r\n`));
      expect(code).toBe("body-too-large");
    },
  );

  it("takes a body of exactly the limit", () => {
    const body = "b".repeat(LIMITS.bodyBytes);
    expect(requestOf(withFields("Content-Length: 50\r\n") + body).body).toHaveLength(50);
  });
});

describe("RequestParser", () => {
  it("does not copy a body that arrived in one chunk with its head", () => {
    const chunk = bytes(`${withFields("Content-Length: 3\r\n")}abc`);
    const message = parser(chunk).next() as Request;
    expect(message.body.buffer).toBe(chunk.buffer);
  });

  it("reads a request line that it has read before, and one that only begins like it", () => {
    const lines = ["QUERY /a?b", "QUERY /a?b", "QUERY /a?bc", "QUERY /a", "QUERY /a?b", "QUERY"];
    const created = parser(lines.map((line) => `AGTP/1.0 ${line}\r\nX: y\r\n\r\n`).join(""));
    const read = lines.map(() => created.next() as Request);
    expect(read.map(({ path, query }) => [path, query])).toEqual([
      ["/a", "b"],
      ["/a", "b"],
      ["/a", "bc"],
      ["/a", undefined],
      ["/a", "b"],
      ["/", undefined],
    ]);
  });

  it("hands out pipelined requests in order", () => {
    const text = ["/a", "/b", "/c"].map((path) => `AGTP/1.0 QUERY ${path}\r\n\r\n`).join("");
    const created = parser(text);
    const paths = [created.next(), created.next(), created.next()].map((m) => (m as Request).path);
    expect(paths).toEqual(["/a", "/b", "/c"]);
    expect(created.next()).toBeUndefined();
    expect(created.phase).toBe("idle");
  });

  it("keeps a body intact while later requests arrive", () => {
    const created = parser(withFields("Content-Length: 2\r\n"), "a");
    expect(created.next()).toBeUndefined();
    created.push(bytes(`b${withFields("").slice(0, 5)}`));
    const first = created.next() as Request;
    created.push(bytes(withFields("Content-Length: 2\r\n").slice(5)));
    created.push(bytes("cd"));
    expect(Buffer.from((created.next() as Request).body).toString()).toBe("cd");
    expect(Buffer.from(first.body).toString()).toBe("ab");
  });

  it("has the text of each body that is short ASCII, and of no other, however it was cut", () => {
    const body = fc.oneof(
      fc.stringMatching(/^[\x00-\x7f]{0,40}$/),
      fc.stringMatching(/^[\x00-\xff]{0,40}$/),
      fc.constantFrom("a".repeat(16 * 1024), "a".repeat(16 * 1024 + 1)),
    );
    const cuts = fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.array(body, { maxLength: 6 }), cuts, (bodies, sizes) => {
        const heads = bodies.map(({ length }) => withFields(`Content-Length: ${length}\r\n`));
        const octets = bytes(bodies.map((text, at) => heads[at] + text).join(""));
        const created = new RequestParser({ ...LIMITS, bodyBytes: 32 * 1024 });
        const texts: unknown[] = [];
        for (let at = 0, turn = 0; at < octets.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          created.push(Buffer.from(octets.subarray(at, at + size)));
          at += size;
          for (let one = created.next(); one !== undefined; one = created.next()) {
            texts.push((one as Request).bodyText);
          }
          created.detach();
        }
        const isShort = (text: string): boolean => text !== "" && text.length <= 16 * 1024;
        const isPlain = (text: string): boolean => !/[^\x00-\x7f]/.test(text);
        const expected = bodies.map((text) => (isShort(text) && isPlain(text) ? text : undefined));
        expect(texts).toEqual(expected);
      }),
    );
  });

  it("tells its phase and what it holds", () => {
    const created = parser();
    expect([created.phase, created.bufferedBytes]).toEqual(["idle", 0]);
    created.push(bytes("AGTP"));
    created.next();
    expect([created.phase, created.bufferedBytes]).toEqual(["head", 4]);
    created.push(bytes("/1.0 QUERY\r\nContent-Length: 3\r\n\r\nx"));
    created.next();
    expect([created.phase, created.bufferedBytes]).toEqual(["body", 1]);
    created.push(bytes("yz"));
    created.next();
    expect([created.phase, created.bufferedBytes]).toEqual(["idle", 0]);
  });

  it("answers a fault once, holds nothing after it, and reads nothing more", () => {
    const created = parser("nonsense\r\n", withFields(""));
    expect(created.next()).toMatchObject({ kind: "wire-fault" });
    expect([created.phase, created.bufferedBytes]).toEqual(["failed", 0]);
    created.push(bytes(withFields("")));
    expect(created.bufferedBytes).toBe(0);
    expect(created.next()).toBeUndefined();
    expect(created.end()).toBeUndefined();
  });

  it.each([
    ["A", "head"],
    [withFields("Content-Length: 2\r\n"), "body"],
    [`${withFields("Content-Length: 2\r\n")}x`, "body"],
  ])("calls a message that ends with %j cut short in its %s", (text, place) => {
    const created = parser(text);
    expect(created.next()).toBeUndefined();
    const fault = created.end();
    expect(fault).toMatchObject({ code: "invalid-framing" });
    expect(fault?.message).toContain(place);
    expect(created.phase).toBe("failed");
  });

  it("lets the peer leave between messages", () => {
    const created = parser(withFields(""));
    created.next();
    expect(created.end()).toBeUndefined();
  });
});
