import { describe, expect, it } from "vitest";
import { serializeRequest, serializeResponses } from "../../src/wire/serialize.ts";

// AGTP "Wire Format"
describe("serializeResponses", () => {
  it("writes status line, fields as given, Content-Length and body", () => {
    const bytes = serializeResponses([
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
    const bytes = serializeResponses([{ status: 200, headers: [], body: "é€😀" }]);
    const expected = Buffer.from("AGTP/1.0 200 OK\r\nContent-Length: 9\r\n\r\né€😀");
    expect(bytes).toEqual(expected);
  });

  it("writes a body of bytes as it is", () => {
    const body = Uint8Array.of(0, 13, 10, 255);
    const bytes = serializeResponses([{ status: 200, headers: [], body }]);
    expect(bytes.subarray(-4)).toEqual(Buffer.from(body));
    expect(bytes.toString("latin1")).toContain("Content-Length: 4\r\n\r\n");
  });

  it("writes 204 without a body and without Content-Type", () => {
    const headers = [
      ["Server-ID", "acme"],
      ["content-TYPE", "text/plain"],
    ] as const;
    const bytes = serializeResponses([{ status: 204, headers, body: "not sent" }]);
    expect(bytes.toString()).toBe(
      "AGTP/1.0 204 No Content\r\nServer-ID: acme\r\nContent-Length: 0\r\n\r\n",
    );
  });

  it("leaves the text of a status it does not know empty", () => {
    const bytes = serializeResponses([{ status: 299, headers: [], body: "" }]);
    expect(bytes.toString()).toBe("AGTP/1.0 299 \r\nContent-Length: 0\r\n\r\n");
  });

  it("puts a batch into one buffer, in order, whatever the bodies are", () => {
    const bodies = ["a", "é", Buffer.from("b"), "c", "", "€", Buffer.from("\xff", "latin1")];
    const each = bodies.map((body) => serializeResponses([{ status: 200, headers: [], body }]));
    const all = serializeResponses(bodies.map((body) => ({ status: 200, headers: [], body })));
    expect(all).toEqual(Buffer.concat(each));
  });

  it("writes nothing for no responses", () => {
    expect(serializeResponses([])).toHaveLength(0);
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
