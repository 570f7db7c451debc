import { mkdtemp, rm } from "node:fs/promises";
import type { Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, type Dispatcher, request } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ensureCertificate } from "../../src/server/certificate.ts";
import { startOrderDesk } from "../../tools/sample-upstream.ts";

const TOKEN = "test-key";
let directory: string;
let desk: Server;
let agent: Agent;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "order-desk-"));
  const { cert, key } = await ensureCertificate(directory);
  desk = await startOrderDesk({ port: 0, cert, key, token: TOKEN });
  agent = new Agent({ connect: { ca: cert, servername: "localhost" } });
});

afterAll(async () => {
  await agent.close();
  desk.close();
  await rm(directory, { recursive: true });
});

async function call(
  method: Dispatcher.HttpMethod,
  path: string,
  body?: unknown,
  token: string = TOKEN,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const { port } = desk.address() as AddressInfo;
  const response = await request(`https://127.0.0.1:${port}${path}`, {
    method,
    dispatcher: agent,
    headers: { authorization: `Bearer ${token}` },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const answered = (await response.body.json()) as Record<string, unknown>;
  return { status: response.statusCode, body: answered };
}

describe("startOrderDesk", () => {
  it("takes an order, shows it and cancels it", async () => {
    const placed = await call("POST", "/v1/orders", { reservationId: "r1", item: "flowers" });
    expect(placed).toMatchObject({ status: 201, body: { state: "placed", totalPrice: 35 } });
    const path = `/v1/orders/${placed.body["orderNumber"]}`;
    expect(await call("GET", path)).toEqual({ ...placed, status: 200 });
    const cancelled = { status: 200, body: { ...placed.body, state: "cancelled" } };
    expect(await call("DELETE", path)).toEqual(cancelled);
    expect(await call("GET", path)).toEqual(cancelled);
  });

  it.each([
    [401, "GET", "/v1/orders/OD-1", undefined, "another-key"],
    [404, "GET", "/v1/orders/OD-99999", undefined, TOKEN],
    [404, "GET", "/elsewhere", undefined, TOKEN],
    [400, "POST", "/v1/orders", { reservationId: "r1", item: "a yacht" }, TOKEN],
    [400, "POST", "/v1/orders", null, TOKEN],
    [409, "POST", "/v1/orders", { reservationId: "r1", item: "flowers", count: 13 }, TOKEN],
  ] as const)("answers %i to %s %s with %j and key %s", async (status, method, path, body, key) => {
    expect((await call(method, path, body, key)).status).toBe(status);
  });

  it("says that a port is taken", async () => {
    const { port } = desk.address() as AddressInfo;
    const again = startOrderDesk({ port, cert: "", key: "", token: TOKEN });
    await expect(again).rejects.toMatchObject({ code: "EADDRINUSE" });
  });
});
