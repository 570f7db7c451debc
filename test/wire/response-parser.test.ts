import { describe, expect, it } from "vitest";
import { isWireFault } from "../../src/wire/message-parser.ts";
import { type ReceivedResponse, ResponseParser } from "../../src/wire/response-parser.ts";

function parse(
  text: string,
  limits = { headBytes: 100, bodyBytes: 50 },
): ReturnType<ResponseParser["next"]> {
  const parser = new ResponseParser(limits);
  parser.push(Buffer.from(text, "latin1"));
  return parser.next();
}

// AGTP "Wire Format"
describe("ResponseParser", () => {
  it.each([
    ["AGTP/1.0 200 OK", 200, "OK"],
    ["AGTP/1.0 459 Method Violation", 459, "Method Violation"],
    ["AGTP/1.0 777 caf\xe9", 777, "caf\xe9"],
    ["AGTP/1.0 200 ", 200, ""],
    ["AGTP/1.0 200", 200, ""],
  ])("reads %j", (line, status, statusText) => {
    expect(parse(`${line}\r\n\r\n`)).toMatchObject({ status, statusText });
  });

  it.each([
    "AGTP/1.1 200 OK",
    "HTTP/1.1 200 OK",
    "AGTP/1.0 20 OK",
    "AGTP/1.0 2000",
    "AGTP/1.0 099 x",
    "",
  ])("refuses %j", (line) => {
    expect(parse(`${line}\r\n`)).toMatchObject({ code: "invalid-wire-format" });
  });

  it("reads a body by Content-Length, and none without it", () => {
    const body = (text: string): string =>
      Buffer.from((parse(text) as ReceivedResponse).body).toString();
    expect(body("AGTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab")).toBe("ab");
    expect(body("AGTP/1.0 200 OK\r\n\r\nab")).toBe("");
  });

  it("joins repeated fields, those too that a request may not repeat", () => {
    const response = parse("AGTP/1.0 200\r\nAgent-ID: a\r\nAgent-ID: b\r\n\r\n");
    expect((response as ReceivedResponse).headers.get("agent-id")).toBe("a, b");
  });

  it.each([
    ["a status line over the limit", `AGTP/1.0 200 ${"x".repeat(100)}`, "header-too-large"],
    ["fields over the limit", `AGTP/1.0 200\r\nA: ${"x".repeat(100)}`, "header-too-large"],
    ["a body over the limit", "AGTP/1.0 200\r\nContent-Length: 51\r\n\r\n", "body-too-large"],
    ["chunked", "AGTP/1.0 200\r\nTransfer-Encoding: chunked\r\n\r\n", "invalid-framing"],
    [
      "two lengths",
      "AGTP/1.0 200\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
      "invalid-framing",
    ],
    ["a bare LF", "AGTP/1.0 200 OK\n", "invalid-wire-format"],
  ])("refuses %s", (_, text, code) => {
    expect(parse(text)).toMatchObject({ kind: "wire-fault", code });
  });

  it("says when a peer left within a response", () => {
    const parser = new ResponseParser();
    parser.push(Buffer.from("AGTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nab"));
    expect(parser.next()).toBeUndefined();
    expect(parser.phase).toBe("body");
    expect(parser.end()).toMatchObject({ code: "invalid-framing" });
    expect(isWireFault(parser)).toBe(false);
  });
});
