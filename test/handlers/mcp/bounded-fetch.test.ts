/** Answers of an MCP server over HTTP, read in bounds and at a pace. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { createBoundedFetch, NeverSent } from "../../../src/handlers/mcp/bounded-fetch.ts";

const MOST = 1_000;

function openStream(play: (response: ServerResponse) => void): Promise<Response> {
  return fetchFrom((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    play(response);
  });
}

async function fetchFrom(
  play: (response: ServerResponse, request: IncomingMessage) => void,
  most: number = MOST,
): Promise<Response> {
  const server = createServer((request, response) => play(response, request));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const { fetch, close } = createBoundedFetch({ kind: "http", url } as never, most);
  onTestFinished(async () => {
    await close();
    server.close();
  });
  return fetch(url);
}

describe("a stream of events", () => {
  it("is read at once up to a number of them, and then so many a second", async () => {
    const from = performance.now();
    const response = await openStream((sent) => sent.end("data: 1\n\n".repeat(300)));
    expect((await response.text()).length).toBe(2_700);
    expect(performance.now() - from).toBeGreaterThan(200);
  });

  it.each([
    ["LF", "\n"],
    ["CR and LF", "\r\n"],
    ["CR", "\r"],
  ])("whose lines end in %s is as long as it likes, and its events are not", async (_, end) => {
    const event = `data: ${"x".repeat(300)}${end}${end}`;
    const well = await openStream((sent) => sent.end(event.repeat(20)));
    expect((await well.text()).length).toBe(event.length * 20);
    const long = await openStream((sent) => sent.end(`data: 1${end}`.repeat(200)));
    await expect(long.text()).rejects.toThrow("longer than 1000 bytes");
  });
});

describe("an event of a stream", () => {
  const eventOf = (length: number, end: string) =>
    `data: ${"x".repeat(length - 6 - 2 * end.length)}${end}${end}`;

  it.each([
    ["at once", (sent: ServerResponse, text: string) => void sent.end(text)],
    [
      "octet by octet",
      (sent: ServerResponse, text: string) => {
        for (const octet of text) sent.write(octet);
        sent.end();
      },
    ],
  ])("that comes %s has its bound to the octet, and those before it are read", async (_, send) => {
    for (const end of ["\n", "\r"]) {
      const [short, most, long] = [20, MOST, MOST + 1].map((length) => eventOf(length, end));
      const text = [short, most, most].join("");
      const well = await openStream((sent) => send(sent, text));
      expect(await well.text()).toBe(text);
      const read: string[] = [];
      const ill = await openStream((sent) => send(sent, `${text}${long}${short}`));
      const pieces = ill.body?.pipeThrough(new TextDecoderStream());
      const reading = (async () => {
        for await (const piece of pieces ?? []) read.push(piece);
      })();
      await expect(reading).rejects.toThrow("longer than 1000 bytes");
      expect(read.join("")).toBe(text);
    }
  });
});

function sendInterim(response: ServerResponse): void {
  for (let sent = 0; sent < 100; sent += 1) response.writeProcessing();
}

it("waits for the answer behind a few interim responses", async () => {
  const response = await fetchFrom((sent) => {
    for (let count = 0; count < 5; count += 1) sent.writeProcessing();
    sent.end("well");
  });
  expect(await response.text()).toBe("well");
});

describe("an answer", () => {
  it("is asked for as it is", async () => {
    const response = await fetchFrom((sent, { headers }) => sent.end(headers["accept-encoding"]));
    expect(await response.text()).toBe("identity");
  });

  it.each([
    ["application/json", (text: string) => text],
    ["text/event-stream", (text: string) => `data: ${text}\n\n`],
  ])("of %s is counted before it is parsed, whatever pieces it comes in", async (type, write) => {
    const answer = (count: number) => {
      const members = Array.from({ length: count }, (_, at) => `"n${at}":0`);
      return Buffer.from(write(`{${members.join()}}`));
    };
    const ask = (octets: Buffer) =>
      fetchFrom((sent) => {
        sent.writeHead(200, { "content-type": type });
        sent.write(octets.subarray(0, 100_001));
        sent.end(octets.subarray(100_001));
      }, 1_048_576);
    const well = answer(20_000);
    expect(await (await ask(well)).text()).toBe(well.toString());
    const many = await ask(answer(60_000));
    await expect(many.text()).rejects.toThrow("more than 50000 names");
  });

  it("that is compressed all the same is refused", async () => {
    const play = (sent: ServerResponse) => {
      sent.writeHead(200, { "content-encoding": "gzip", "content-type": "application/json" });
      sent.end(gzipSync("{}"));
    };
    await expect(fetchFrom(play)).rejects.toThrow("compressed, though identity was asked for");
  });

  it("that is compressed and says no keeps its status", async () => {
    const response = await fetchFrom((sent) => {
      sent.writeHead(401, { "content-encoding": "br" }).end("x");
    });
    expect([response.status, await response.text()]).toEqual([401, ""]);
  });
});

it("is sent nowhere else, and keeps the status that would send it there", async () => {
  const response = await fetchFrom((sent) => sent.writeHead(307, { location: "/" }).end());
  expect([response.status, response.headers.get("location")]).toEqual([307, null]);
  expect(await response.text()).toContain("redirects");
});

describe("a fetch that fails", () => {
  it("tells whether its server can know of it", async () => {
    const closed = fetchFrom((response) => response.socket?.destroy());
    await expect(closed).rejects.not.toBeInstanceOf(NeverSent);
    const server = createServer();
    await once(server.listen(0, "127.0.0.1"), "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    await new Promise((resolve) => server.close(resolve));
    const { fetch, close } = createBoundedFetch({ kind: "http", url } as never, MOST);
    onTestFinished(close);
    await expect(fetch(url)).rejects.toBeInstanceOf(NeverSent);
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ["other side closed", (response) => response.socket?.end()],
    ["too many interim responses", sendInterim],
  ])("says why: %s", async (reason, play) => {
    await expect(fetchFrom(play)).rejects.toThrow(`fetch failed: ${reason}`);
  });
});
