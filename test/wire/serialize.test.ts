import { describe, expect, it } from "vitest";
import { serializeRequest, serializeResponses } from "../../src/wire/message.ts";
import { makeResponse, responseBytes } from "../support/responses.ts";

// AGTP "Wire Format"
describe("serializeResponses", () => {
  it("writes status line, fields as given, Content-Length and body", () => {
    const bytes = responseBytes([
      {
        status: 459,
        headers: [
          ["Server-ID", "acme"],
          ["X-Odd", "é"],
        ],
        body: '{"a":1}',
      },
    ]);
    expect(bytes.toString("latin1")).toBe(
      'AGTP/1.0 459 Method Violation\r\nServer-ID: acme\r\nX-Odd: é\r\nContent-Length: 7\r\n\r\n{"a":1}',
    );
  });

  it("counts the octets of a body, not its characters", () => {
    const bytes = responseBytes([{ status: 200, body: "é€😀" }]);
    const expected = Buffer.from("AGTP/1.0 200 OK\r\nContent-Length: 9\r\n\r\né€😀");
    expect(bytes).toEqual(expected);
  });

  it("writes a body of bytes as it is", () => {
    const body = Uint8Array.of(0, 13, 10, 255);
    const bytes = responseBytes([{ status: 200, body }]);
    expect(bytes.subarray(-4)).toEqual(Buffer.from(body));
    expect(bytes.toString("latin1")).toContain("Content-Length: 4\r\n\r\n");
  });

  it("writes 204 without a body", () => {
    const headers = [["Server-ID", "acme"]] as const;
    const bytes = responseBytes([{ status: 204, headers, body: "not sent" }]);
    expect(bytes.toString()).toBe(
      "AGTP/1.0 204 No Content\r\nServer-ID: acme\r\nContent-Length: 0\r\n\r\n",
    );
  });

  it("leaves the text of a status it does not know empty", () => {
    const bytes = responseBytes([{ status: 299, body: "" }]);
    expect(bytes.toString()).toBe("AGTP/1.0 299 \r\nContent-Length: 0\r\n\r\n");
  });

  it("puts a batch into one buffer, in order, whatever the bodies are", () => {
    const bodies = ["a", "é", Buffer.from("b"), "c", "", "€", Buffer.from("\xff", "latin1")];
    const each = bodies.map((body) => responseBytes([{ status: 200, body }]));
    const all = responseBytes(bodies.map((body) => ({ status: 200, body })));
    expect(all).toEqual(Buffer.concat(each));
  });

  it("writes nothing for no responses", () => {
    expect(responseBytes([])).toHaveLength(0);
  });

  it.each([
    ["a small ASCII body", "a".repeat(1000), "string"],
    ["a large ASCII body", "a".repeat(20_000), "object"],
    ["a body that is not ASCII", "é", "object"],
    ["a body of bytes", Buffer.from("a"), "object"],
  ])("gives what a stream writes soonest for %s", (_, body, type) => {
    const sent = serializeResponses([makeResponse({ status: 200, body })]);
    expect(typeof sent).toBe(type);
  });
});

describe("serializeRequest", () => {
  it("always writes three tokens and a Content-Length", () => {
    const request = { method: "DISCOVER", path: "/", headers: [], body: "" };
    expect(serializeRequest(request).toString()).toBe(
      "AGTP/1.0 DISCOVER /\r\nContent-Length: 0\r\n\r\n",
    );
  });

  it("writes the query behind a question mark, an empty one too", () => {
    const request = { method: "QUERY", path: "/a", headers: [], body: "" };
    expect(serializeRequest({ ...request, query: "b=c" }).toString()).toContain("QUERY /a?b=c\r\n");
    expect(serializeRequest({ ...request, query: "" }).toString()).toContain("QUERY /a?\r\n");
  });
});
