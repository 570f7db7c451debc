import { once } from "node:events";
import { createServer, get, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { exporterOptions } from "../../../src/modules/tracing/collector-agent.ts";

/** Asks a collector as often as told, and answers what the last of it came to. */
async function ask(listener: RequestListener, timeoutMillis: number, times = 1): Promise<unknown> {
  const server = createServer(listener);
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const address = { url, headers: {}, timeoutMillis, concurrencyLimit: 1 };
  const agent = await exporterOptions(address).agentFactory("http:");
  onTestFinished(() => agent.destroy());
  let answer: unknown;
  for (let time = 0; time < times; time += 1) {
    const request = get(url, { agent }).on("error", () => undefined);
    answer = await once(request, "response").then(
      ([response]) => text(response).catch((error: Error) => error.message),
      (error: Error) => error.message,
    );
  }
  return answer;
}

/** Writes something every few milliseconds until nobody takes it any more. */
const dripBody: RequestListener = (_, response) => {
  response.writeHead(200);
  const timer = setInterval(() => response.write("x"), 5);
  response.on("close", () => clearInterval(timer));
};

const dripInterim: RequestListener = (_, response) => {
  const timer = setInterval(() => response.writeProcessing(), 5);
  response.on("close", () => clearInterval(timer));
};

/** Before an answer has begun, and after. */
const LATE = ["the collector did not answer in time", "aborted"];

describe("a collector", () => {
  it.each([
    ["its answer", dripBody],
    ["interim responses", dripInterim],
  ])("that sends %s on and on is left in time", async (_, listener) => {
    expect(LATE).toContain(await ask(listener, 100));
  });

  it("is left in time on a connection that has served", async () => {
    let count = 0;
    const listener: RequestListener = (request, response) => {
      count += 1;
      if (count === 1) response.end("well");
      else dripBody(request, response);
    };
    expect(LATE).toContain(await ask(listener, 300, 2));
  });

  it("keeps its connection for longer than an answer may take", async () => {
    const ports = new Set<number | undefined>();
    const listener: RequestListener = (request, response) => {
      ports.add(request.socket.remotePort);
      setTimeout(() => response.end("well"), 60);
    };
    expect(await ask(listener, 200, 5)).toBe("well");
    expect(ports.size).toBe(1);
  });
});
