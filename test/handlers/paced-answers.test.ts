/** Answers that come in tiny pieces, and long ones that come together. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { describe, expect, it, onTestFinished } from "vitest";
import { createHttpClient, readBoundedBody } from "../../src/handlers/connection-options.ts";
import { createBoundedFetch } from "../../src/handlers/mcp/bounded-fetch.ts";
import { createUpstreamPools } from "../../src/handlers/upstream-pools.ts";
import { countTurns } from "../support/event-loop.ts";

const PIECES = 20_000;
const MOST = 1_048_576;

/** The origin of a server that answers in this way. */
async function serve(answer: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((_, response) => answer(response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Each octet is a chunk, and all of them are on their way at once. */
function sendPieces(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
  response.socket?.write(`${"1\r\n1\r\n".repeat(PIECES)}0\r\n\r\n`);
}

function openPools() {
  const pools = createUpstreamPools();
  onTestFinished(() => pools.close());
  return pools;
}

function openFetch(url: string): () => Promise<Response> {
  const place = { kind: "http", url } as never;
  const { fetch, close } = createBoundedFetch(place, MOST);
  onTestFinished(close);
  return () => fetch(url);
}

/** The turns, of the event loop, in which works that were begun together are over. */
async function turnsOf(works: readonly Promise<unknown>[]): Promise<ReadonlySet<number>> {
  const count = countTurns();
  const ends = works.map((work) => work.then(() => count.turns));
  const turns = new Set(await Promise.all(ends));
  count.stop();
  return turns;
}

describe("an answer in tiny pieces", () => {
  it("of an external service is read a few of them a turn, and whole", async () => {
    const origin = await serve(sendPieces);
    const pool = openPools().pool({ origin, ca: undefined });
    const { signal } = new AbortController();
    const { body } = await pool.request({ method: "GET", path: "/", signal });
    const count = countTurns();
    expect(await body.text()).toBe("1".repeat(PIECES));
    count.stop();
    expect(count.turns).toBeGreaterThan(PIECES / 200);
  });

  it("of a token issuer, a webhook or a model is read a few of them a turn, and whole", async () => {
    const client = createHttpClient({ connections: 1, connectTimeoutMs: 5_000 });
    onTestFinished(() => client.close());
    const { body } = await client.request(`${await serve(sendPieces)}/`, {});
    const count = countTurns();
    expect(await body.text()).toBe("1".repeat(PIECES));
    count.stop();
    expect(count.turns).toBeGreaterThan(PIECES / 200);
  });

  it("of an MCP server is read a few of them a turn, and whole", async () => {
    const response = await openFetch(await serve(sendPieces))();
    const count = countTurns();
    expect(await response.text()).toBe("1".repeat(PIECES));
    count.stop();
    expect(count.turns).toBeGreaterThan(PIECES / 200);
  });
});

describe("answers that come together", () => {
  const bodies = (length: number) =>
    Array.from({ length: 8 }, () =>
      readBoundedBody(MOST, { body: Readable.from([Buffer.alloc(length)]) as never, headers: {} }),
    );

  it("are each worked off in a turn of their own where they are long", async () => {
    expect(await turnsOf(bodies(100_000))).toHaveProperty("size", 8);
  });

  it("are worked off together where they are short", async () => {
    expect(await turnsOf(bodies(100))).toHaveProperty("size", 1);
  });

  it.each([
    ["application/json", '"'],
    ["text/event-stream", "\n\n"],
  ])("are so from MCP servers as well: %s", async (type, end) => {
    const waiting: ServerResponse[] = [];
    const origin = await serve((response) => {
      waiting.push(response.writeHead(200, { "content-type": type }));
      response.write('"');
      if (waiting.length < 8) return;
      for (const one of waiting) one.end("1".repeat(20_000) + end);
    });
    const fetch = openFetch(origin);
    const responses = await Promise.all(Array.from({ length: 8 }, () => fetch()));
    expect(await turnsOf(responses.map((one) => one.text()))).toHaveProperty("size", 8);
  });
});
