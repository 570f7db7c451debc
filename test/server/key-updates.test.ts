import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { get } from "node:https";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { TlsOverhead } from "../../src/server/connection-limits.ts";
import { connectKeyUpdater } from "../../tools/torture/key-updates.ts";
import { makeCertificate } from "../support/certificate.ts";
import { closeOf, openDaemon } from "../support/daemon.ts";
import { gatewayFiles, openGateway } from "../support/gateway.ts";
import { echo, serverFiles } from "../support/server-deployment.ts";

/** Connections are looked at every half second, and no handshake or head is late on a busy machine. */
const limits = { header_timeout_ms: 2_000 };

/** The findings of each look so far. */
function watchLooks(): () => readonly unknown[] {
  const looks = vi.spyOn(TlsOverhead.prototype, "isExcessive");
  onTestFinished(() => looks.mockRestore());
  return () => looks.mock.results.map(({ value }) => value);
}

/** Updates keys until the connection is closed; others do something of their own between. */
async function updateUntilClosed(port: number, between: () => Promise<void>): Promise<void> {
  const { socket, updates } = await connectKeyUpdater(port);
  onTestFinished(() => void socket.destroy());
  socket.resume();
  const closed = closeOf(socket);
  let isClosed = false;
  void closed.then(() => {
    isClosed = true;
  });
  while (!isClosed) {
    socket.write(updates(2_000));
    await between();
  }
  await closed;
}

describe("a peer that goes on updating its keys", () => {
  it("is dropped, and others are served", async () => {
    const looks = watchLooks();
    const { daemon, connect } = await openDaemon(serverFiles({ limits }));
    const client = await connect();
    let number = 0;
    await updateUntilClosed(daemon.port, async () => {
      number += 1;
      client.write(echo(number));
      expect((await client.replies(number)).at(-1)?.status).toBe(200);
    });
    expect(looks()).toContain(true);
  });

  it("is dropped by the sidecar, and others are served", async () => {
    const looks = watchLooks();
    const { cert, key } = await makeCertificate();
    const gateway = { cert: "http.pem", key: "http-key.pem" };
    const files = { "http.pem": cert, "http-key.pem": key };
    const { port } = await openGateway(gatewayFiles({ gateway }, files));
    await updateUntilClosed(port, async () => {
      const answer = get({ host: "127.0.0.1", port, path: "/orders/7", rejectUnauthorized: false });
      const [response] = (await once(answer, "response")) as [IncomingMessage];
      expect(response.statusCode).toBe(200);
      response.resume();
    });
    expect(looks()).toContain(true);
  });
});

describe("a peer that asks for much", () => {
  it("is not taken for one that updates its keys", async () => {
    const looks = watchLooks();
    const { connect } = await openDaemon(serverFiles({ limits }));
    const client = await connect();
    const batch = Buffer.concat(Array.from({ length: 2_000 }, (_, number) => echo(number)));
    // The first look may come before anything was asked.
    for (let round = 1; round <= 4 || looks().length < 2; round += 1) {
      client.write(batch);
      expect(await client.replies(round * 2_000)).toHaveLength(round * 2_000);
    }
    for (const isExcessive of looks()) expect(isExcessive).toBe(false);
  });
});

describe("TlsOverhead", () => {
  function createOverhead() {
    const raw = { bytesRead: 2_000 };
    const secured = { bytesRead: 0 };
    const overhead = new TlsOverhead(raw, secured);
    const look = (octets: number, beside: number, requests = 0): boolean => {
      secured.bytesRead += octets;
      raw.bytesRead += octets + beside;
      return overhead.isExcessive(requests);
    };
    return { look };
  }

  it.each([
    ["nothing", 0, 0, 0],
    ["long requests", 1_000_000, 2_000, 1],
    ["a record for each octet", 4_000, 4_000 * 22, 1],
    ["some updates", 0, 27 * 100, 0],
    ["a record for each of many requests", 100_000 * 20, 100_000 * 22, 100_000],
  ])("allows %s", (_, octets, beside, requests) => {
    const { look } = createOverhead();
    for (let time = 0; time < 10; time += 1) expect(look(octets, beside, requests)).toBe(false);
  });

  it.each([
    ["updates alone", 0, 27 * 2_000, 0],
    ["updates beside a long request", 1_000_000, 27 * 10_000, 1],
    ["two updates beside each of many requests", 100_000 * 20, 100_000 * (22 + 2 * 27), 100_000],
  ])("does not allow %s", (_, octets, beside, requests) => {
    expect(createOverhead().look(octets, beside, requests)).toBe(true);
  });
});
