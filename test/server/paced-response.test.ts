import { once } from "node:events";
import http, { type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { SendBudget } from "../../src/server/connection-limits.ts";
import { pacedResponses } from "../../src/server/paced-response.ts";

const MEBIBYTE = 1024 * 1024;
const BODY = Buffer.alloc(8 * MEBIBYTE, "x");

/** A server that answers each request with `answer`, over a budget. */
async function serve(
  answer: (response: ServerResponse) => void,
  sendBufferTotalBytes = 64 * MEBIBYTE,
) {
  const limits = { sendBufferTotalBytes, idleTimeoutMs: 60_000 };
  const budget = new SendBudget(limits);
  const responses: ServerResponse[] = [];
  const server = http.createServer({ ServerResponse: pacedResponses(budget) }, (_, response) => {
    responses.push(response);
    answer(response);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return { budget, port, responses, server };
}

/** A client that asks and does not read. */
async function ask(port: number): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port });
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.pause();
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  return socket;
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}

describe("a paced response", () => {
  it.each([
    ["a buffer", BODY],
    ["a text", BODY.toString()],
  ])("delivers %s whole, with its length", async (_, body) => {
    const { port, budget } = await serve((response) => response.end(body));
    const [response] = await once(http.get({ port }), "response");
    expect(response.headers["content-length"]).toBe(String(BODY.length));
    let received = 0;
    for await (const chunk of response) received += chunk.length;
    expect(received).toBe(BODY.length);
    await until(() => budget.bytes === 0);
  });

  it("shares its body with the others, whoever does not read", async () => {
    const { port, responses, budget } = await serve((response) => response.end(BODY));
    await Promise.all(Array.from({ length: 20 }, () => ask(port)));
    await until(() => responses.length === 20);
    const waiting = responses.reduce((sum, { writableLength }) => sum + writableLength, 0);
    expect(waiting).toBeLessThan(BODY.length);
    expect(budget.bytes).toBeLessThan(2 * BODY.length);
  });

  it("is broken off when too much waits, the slowest first", async () => {
    const own = (response: ServerResponse) => response.end(Buffer.alloc(BODY.length, "y"));
    const { port, responses, budget } = await serve(own, 2.5 * BODY.length);
    for (let count = 1; count <= 4; count += 1) {
      await ask(port);
      await until(() => responses.length === count);
    }
    expect(responses.map(({ destroyed }) => destroyed)).toEqual([true, true, false, false]);
    expect(budget.bytes).toBeLessThan(2.5 * BODY.length);
  });

  it("is broken off when nothing of it is taken for the idle timeout", async () => {
    const { port, responses, budget } = await serve((response) => response.end(BODY));
    await ask(port);
    await until(() => responses.length === 1 && budget.bytes > BODY.length);
    budget.sweep(performance.now() + 60_001);
    expect(responses[0]?.destroyed).toBe(true);
  });

  it("counts events that wait for a listener, until they are taken", async () => {
    const { port, responses, budget } = await serve((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: x\n\n");
    });
    const socket = await ask(port);
    await until(() => responses.length === 1);
    const event = `data: ${"x".repeat(MEBIBYTE)}\n\n`;
    while (responses[0]?.write(event)) await until(() => true);
    expect(budget.bytes).toBeGreaterThan(0);
    socket.resume();
    await once(responses[0] as ServerResponse, "drain");
    responses[0]?.write(": more\n\n");
    expect(budget.bytes).toBe(0);
  });

  it("sends no body to HEAD", async () => {
    const { port } = await serve((response) => response.end(BODY));
    const [response] = await once(http.request({ port, method: "HEAD" }).end(), "response");
    let received = 0;
    for await (const chunk of response) received += chunk.length;
    expect(received).toBe(0);
  });
});
