import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { type ConnectionOptions, connect } from "node:tls";
import { describe, expect, it } from "vitest";
import type { Daemon } from "../../src/app/daemon.ts";
import { closeOf, openDaemon, type RawClient } from "../support/daemon.ts";
import { echo, serverFiles } from "../support/server-deployment.ts";

/** The error code a handshake ends with. */
async function refusedHandshake({ port }: Daemon, options: ConnectionOptions): Promise<unknown> {
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ...options });
  const [error] = await once(socket, "error");
  return error.code;
}

async function expectServed(client: RawClient): Promise<void> {
  client.write(echo(1));
  const [reply] = await client.replies(1);
  expect(reply?.status).toBe(200);
}

// AGTP "Transport"
describe("the transport", () => {
  it("is TLS 1.3", async () => {
    const { connect } = await openDaemon(serverFiles());
    const client = await connect();
    expect(client.socket.getProtocol()).toBe("TLSv1.3");
    await expectServed(client);
  });

  it("refuses TLS 1.2", async () => {
    const { daemon } = await openDaemon(serverFiles());
    const code = await refusedHandshake(daemon, { minVersion: "TLSv1.2", maxVersion: "TLSv1.2" });
    expect(code).toBe("ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION");
  });

  it.each([
    ["none is offered", undefined, false],
    ["agtp is offered", ["agtp"], "agtp"],
    ["agtp is offered among others", ["h2", "agtp", "http/1.1"], "agtp"],
  ])("selects ALPN where it can: %s", async (_, ALPNProtocols, selected) => {
    const { connect } = await openDaemon(serverFiles());
    const client = await connect(ALPNProtocols === undefined ? {} : { ALPNProtocols });
    expect(client.socket.alpnProtocol).toBe(selected);
    await expectServed(client);
  });

  it("refuses a client that only speaks other protocols", async () => {
    const { daemon } = await openDaemon(serverFiles());
    const code = await refusedHandshake(daemon, { ALPNProtocols: ["http/1.1", "h2"] });
    expect(code).toBe("ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL");
  });

  it.each([
    ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256"],
    ["TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"],
    ["TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256"],
  ])("selects the cipher %s of %s", async (selected, ciphers) => {
    const { connect } = await openDaemon(serverFiles());
    const client = await connect({ ciphers });
    expect(client.socket.getCipher().name).toBe(selected);
    await expectServed(client);
  });

  it("resumes a session", async () => {
    const { connect } = await openDaemon(serverFiles());
    const first = await connect();
    await expectServed(first);
    // The ticket came before the reply.
    const session = first.socket.getSession() ?? Buffer.alloc(0);
    first.destroy();
    const second = await connect({ session });
    expect(second.socket.isSessionReused()).toBe(true);
    await expectServed(second);
  });

  it.each([
    ["an HTTP request", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"],
    ["an AGTP request", "AGTP/1.0 DISCOVER /\r\nContent-Length: 0\r\n\r\n"],
    ["zeros", "\0".repeat(70_000)],
  ])("ends a connection that sends plaintext: %s", async (_, bytes) => {
    const { daemon, connect } = await openDaemon(serverFiles());
    const socket = connectTcp({ host: "127.0.0.1", port: daemon.port });
    socket.on("data", () => undefined);
    socket.write(bytes, "latin1");
    await closeOf(socket);
    await expectServed(await connect());
  });
});
