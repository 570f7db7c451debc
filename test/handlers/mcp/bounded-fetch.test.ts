/** Answers of an MCP server over HTTP, read in bounds and at a pace. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { createBoundedFetch } from "../../../src/handlers/mcp/bounded-fetch.ts";

const MOST = 1_000;

function openStream(play: (response: ServerResponse) => void): Promise<Response> {
  return fetchFrom((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    play(response);
  });
}

async function fetchFrom(play: (response: ServerResponse) => void): Promise<Response> {
  const server = createServer((_, response) => play(response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const { fetch, close } = createBoundedFetch({ kind: "http", url } as never, MOST);
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

describe("a fetch that fails", () => {
  it.each<[string, (response: ServerResponse) => void]>([
    ["other side closed", (response) => response.socket?.end()],
    ["too many interim responses", sendInterim],
    ["unexpected redirect", (response) => response.writeHead(307, { location: "/" }).end()],
  ])("says why: %s", async (reason, play) => {
    await expect(fetchFrom(play)).rejects.toThrow(`fetch failed: ${reason}`);
  });
});
