import { describe, expect, it } from "vitest";
import { encodeRequest, parseTranscript } from "../../../src/programs/conformance/transcript.ts";

const RESPONSE = "AGTP/1.0 200 OK\nServer-ID: x\n\n{}";

function parse(text: string) {
  const { transcript, problems } = parseTranscript(text, "exchanges/200-name.agtp");
  if (transcript === undefined) throw new Error(JSON.stringify(problems));
  return transcript;
}

function requestOf(request: string): string {
  const [exchange] = parse(`# §1\n${request}\n----------\n${RESPONSE}\n`).exchanges;
  return exchange === undefined ? "" : encodeRequest(exchange.request).toString("latin1");
}

describe("parseTranscript", () => {
  it("reads name, clause and configuration", () => {
    const text = `# AGTP-API §5.1\n# config: closed\nAGTP/1.0 QUERY\n----------\n${RESPONSE}`;
    expect(parse(text)).toMatchObject({
      name: "200-name",
      clause: "AGTP-API §5.1",
      config: "closed",
    });
  });

  it("makes CRLF of line feeds in a head, and completes it", () => {
    expect(requestOf("AGTP/1.0 QUERY /a\nTask-ID: t")).toBe(
      "AGTP/1.0 QUERY /a\r\nTask-ID: t\r\n\r\n",
    );
  });

  it("leaves line feeds in a body alone, and counts its octets", () => {
    expect(requestOf('AGTP/1.0 QUERY /a\nContent-Length: {length}\n\n{\n"c": "é"}')).toBe(
      'AGTP/1.0 QUERY /a\r\nContent-Length: 12\r\n\r\n{\n"c": "Ã©"}',
    );
  });

  it("writes escaped octets as they are, in head and body", () => {
    expect(requestOf("AGTP/1.0 QUERY /\\x00\\xFF\n\n\\x0a")).toBe(
      "AGTP/1.0 QUERY /\0\xff\r\n\r\n\n",
    );
  });

  it("cuts a request off where it says so, in the head or in the body", () => {
    expect(requestOf("AGTP/1.0 QUERY /a\n{end}")).toBe("AGTP/1.0 QUERY /a\r\n");
    expect(requestOf("AGTP/1.0 QUERY /a\nContent-Length: 9\n\n{}\n{end}")).toBe(
      "AGTP/1.0 QUERY /a\r\nContent-Length: 9\r\n\r\n{}",
    );
  });

  it("reads several exchanges, and that the last one closes", () => {
    const one = `AGTP/1.0 QUERY /a\n----------\n${RESPONSE}`;
    const { exchanges } = parse(`# §1\n${one}\n==========\n${one}\n{close}\n`);
    expect(exchanges.map(({ line, isClosed }) => [line, isClosed])).toEqual([
      [2, false],
      [9, true],
    ]);
  });

  it("expects nothing where the server only closes", () => {
    const { exchanges } = parse("# §1\nAGTP/1.0 QUERY\n----------\n{close}");
    expect(exchanges).toMatchObject([{ responses: [], isClosed: true }]);
  });

  it.each([
    ["no clause", `AGTP/1.0 QUERY\n----------\n${RESPONSE}`],
    ["no answer", "# §1\nAGTP/1.0 QUERY"],
    ["two answers", `# §1\nAGTP/1.0 QUERY\n----------\n${RESPONSE}\n----------\n${RESPONSE}`],
    ["no status line", "# §1\nAGTP/1.0 QUERY\n----------\nHTTP/1.1 200 OK"],
    ["no header field", "# §1\nAGTP/1.0 QUERY\n----------\nAGTP/1.0 200 OK\nServer-ID"],
    [
      "an end before the last exchange",
      `# §1\nA\n----------\n${RESPONSE}\n{close}\n==========\nA\n----------\n${RESPONSE}`,
    ],
    ["nothing at all", ""],
  ])("answers %s with a problem that names the line", (_, text) => {
    const { transcript, problems } = parseTranscript(text, "x.agtp");
    expect(transcript).toBeUndefined();
    expect(problems[0]).toMatchObject({
      file: "x.agtp",
      key: expect.stringMatching(/^line \d+$/),
    });
  });
});
