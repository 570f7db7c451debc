import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Request, serializeRequest, type WireFault } from "../../src/wire/message.ts";
import { isWireFault } from "../../src/wire/message-parser.ts";
import { RequestParser } from "../../src/wire/request-parser.ts";
import { type ReceivedResponse, ResponseParser } from "../../src/wire/response-parser.ts";
import { responseBytes } from "../support/responses.ts";

const LIMITS = { requestLineBytes: 60, headerBytes: 150, headerCount: 6, bodyBytes: 40 };

interface Parser<Message> {
  push(chunk: Buffer): void;
  next(): Message | WireFault | undefined;
  end(): WireFault | undefined;
}

/** All messages and faults of some bytes that arrive in the given pieces. */
function readAll<Message extends object>(parser: Parser<Message>, chunks: Buffer[]): unknown[] {
  const read: unknown[] = [];
  const drain = (): void => {
    for (let message = parser.next(); message !== undefined; message = parser.next()) {
      read.push(comparable(message));
    }
  };
  for (const chunk of chunks) {
    parser.push(Buffer.from(chunk));
    drain();
  }
  read.push(parser.end());
  return read;
}

function comparable(message: object): unknown {
  if (isWireFault(message)) return message;
  const { headers, body, bodyText, ...start } = message as Request;
  return { ...start, bodyText, headers: [...headers], body: Buffer.from(body).toString("hex") };
}

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b);
  const edges = [0, ...sorted, bytes.length];
  return edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
}

const token = fc.stringMatching(/^[!$%&'*+\-.^_`|~0-9A-Za-z]{1,10}$/);
const fieldName = token.filter((name) => !/^(content-length|transfer-encoding)$/i.test(name));
const fieldValue = fc.stringMatching(
  /^([\x21-\x7e\x80-\xff]([\t\x20-\x7e\x80-\xff]{0,10}[\x21-\x7e\x80-\xff])?)?$/,
);
const fields = fc.uniqueArray(fc.tuple(fieldName, fieldValue), {
  maxLength: 5,
  selector: ([name]) => name.toLowerCase(),
});
const body = fc.oneof(
  fc.string({ maxLength: 10, unit: "grapheme" }),
  fc.uint8Array({ maxLength: 40 }),
);
const request = fc.record({
  method: token,
  path: fc.stringMatching(/^\/[!-"$->@-~]{0,20}$/),
  query: fc.option(fc.stringMatching(/^[!-"$-~]{0,10}$/), { nil: undefined }),
  headers: fields,
  body,
});
const response = fc.record({ status: fc.constantFrom(200, 262, 459, 777), headers: fields, body });
const places = fc.array(fc.nat(1000), { maxLength: 12 });

/** Nearly right requests: the pieces a hostile peer would recombine. */
const fragment = fc.oneof(
  { weight: 3, arbitrary: request.map((value) => serializeRequest(value)) },
  fc
    .constantFrom(
      ...[
        "AGTP/1.0 QUERY /\r\n",
        "AGTP/1.0 ",
        "\r\n",
        "\n",
        "\r",
        "\r\n\r\n",
        ":",
        " ",
        "\t",
        "#",
        "?",
      ],
      ...["Agent-ID: a\r\n", "agent-id: b\r\n", "Content-Length: 3\r\n", "Content-Length: 99\r\n"],
      ...[
        "Transfer-Encoding: x\r\n",
        "X: y\r\n",
        "\0",
        "\xff",
        "A".repeat(70),
        "B: c\r\n".repeat(7),
      ],
    )
    .map((text) => Buffer.from(text, "latin1")),
);
const stream = fc.array(fragment, { maxLength: 8 }).map((parts) => Buffer.concat(parts));
const mutated = fc
  .tuple(
    stream,
    fc.array(fc.tuple(fc.nat(2000), fc.integer({ min: 0, max: 255 })), { maxLength: 3 }),
  )
  .map(([bytes, changes]) => {
    for (const [place, octet] of changes) bytes[place % Math.max(1, bytes.length)] = octet;
    return bytes;
  });

describe("requests", () => {
  it("are parsed as they were serialized, pipelined and cut anywhere", () => {
    fc.assert(
      fc.property(fc.array(request, { maxLength: 4 }), places, (requests, at) => {
        const bytes = Buffer.concat(requests.map((value) => serializeRequest(value)));
        const limits = {
          requestLineBytes: 500,
          headerBytes: 1000,
          headerCount: 10,
          bodyBytes: 100,
        };
        const read = readAll(new RequestParser(limits), cut(bytes, at));
        expect(read).toEqual([...requests.map(asParsed), undefined]);
      }),
    );
  });

  it("and faults are the same for every chunking", () => {
    fc.assert(
      fc.property(mutated, places, (bytes, at) => {
        const whole = readAll(new RequestParser(LIMITS), [bytes]);
        expect(readAll(new RequestParser(LIMITS), cut(bytes, at))).toEqual(whole);
      }),
      { numRuns: 1500 },
    );
  });

  it("and faults are the same octet by octet", () => {
    fc.assert(
      fc.property(mutated, (bytes) => {
        const whole = readAll(new RequestParser(LIMITS), [bytes]);
        const octets = [...bytes].map((octet) => Buffer.of(octet));
        expect(readAll(new RequestParser(LIMITS), octets)).toEqual(whole);
      }),
      { numRuns: 500 },
    );
  });

  it("and faults are the same whatever was read before them", () => {
    fc.assert(
      fc.property(request, mutated, (earlier, bytes) => {
        const limits = { ...LIMITS, requestLineBytes: 100, headerBytes: 300, bodyBytes: 500 };
        const before = serializeRequest(earlier);
        const repeated = Buffer.concat([before.subarray(0, before.indexOf("\r\n") + 2), bytes]);
        for (const next of [bytes, repeated]) {
          const [, ...read] = readAll(new RequestParser(limits), [before, next]);
          expect(read).toEqual(readAll(new RequestParser(limits), [next]));
        }
      }),
      { numRuns: 500 },
    );
  });

  it("never make the parser throw, whatever the bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 65_536, size: "max" }), places, (bytes, at) => {
        readAll(new RequestParser(LIMITS), cut(Buffer.from(bytes), at));
        readAll(new ResponseParser(), cut(Buffer.from(bytes), at));
      }),
      { numRuns: 40 },
    );
  });

  it("leave nothing held beyond what the limits allow and the last chunk", () => {
    fc.assert(
      fc.property(mutated, (bytes) => {
        const parser = new RequestParser(LIMITS);
        for (const octet of bytes) {
          parser.push(Buffer.of(octet));
          while (parser.next() !== undefined);
          expect(parser.bufferedBytes).toBeLessThanOrEqual(60 + 2 + 150 + 2 + 40);
        }
      }),
      { numRuns: 150 },
    );
  });
});

describe("responses", () => {
  it("are parsed as they were serialized, in a batch and cut anywhere", () => {
    fc.assert(
      fc.property(fc.array(response, { maxLength: 4 }), places, (responses, at) => {
        const read = readAll<ReceivedResponse>(
          new ResponseParser(),
          cut(responseBytes(responses), at),
        );
        expect(read).toEqual([
          ...responses.map(({ status, headers, body: sent }) => ({
            ...{ status, statusText: expect.any(String) },
            ...asReceived(headers, sent),
          })),
          undefined,
        ]);
      }),
    );
  });
});

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly query: string | undefined;
  readonly headers: [string, string][];
  readonly body: string | Uint8Array;
}

function asParsed({ headers, body: sent, ...line }: Sent): object {
  const octets = Buffer.from(sent as string);
  const isText = octets.length > 0 && octets.every((octet) => octet < 0x80);
  const bodyText = isText ? octets.toString("latin1") : undefined;
  return { ...line, bodyText, ...asReceived(headers, sent) };
}

function asReceived(headers: [string, string][], sent: string | Uint8Array): object {
  const bytes = typeof sent === "string" ? Buffer.from(sent) : Buffer.from(sent);
  const received = headers.map(([name, value]) => [name.toLowerCase(), value]);
  return {
    headers: [...received, ["content-length", String(bytes.length)]],
    body: bytes.toString("hex"),
  };
}
