/** Peers that ask and do not read: what they cost, who is let go for it, and who is not. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { describe, expect, it, onTestFinished } from "vitest";
import { makeCertificate } from "../support/certificate.ts";
import { connectRaw, openDaemon, type RawClient } from "../support/daemon.ts";
import { makeDeployment } from "../support/deployment.ts";
import { encodeRequest } from "../support/dispatch.ts";
import { call, echo, serverFiles } from "../support/server-deployment.ts";

const PROGRAM = resolve(import.meta.dirname, "../../dist/tools/agtpd.js");
const READERS = 40;
const MEBIBYTE = 1024 * 1024;
const MANIFEST = encodeRequest({ method: "DISCOVER", path: "/", headers: {}, body: "" });

/** A daemon in a process of its own, which says how much memory it has. */
async function startMeasured(configPath: string) {
  const probe = `process.on("message", () => { gc(); process.send(process.memoryUsage().rss); })`;
  const flags = ["--expose-gc", "--import", `data:text/javascript,${encodeURIComponent(probe)}`];
  const args = [...flags, PROGRAM, "--config", configPath, "--port", "0"];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit", "ipc"] });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  const resident = async (): Promise<number> => {
    child.send("?");
    return (await once(child, "message"))[0];
  };
  for await (const line of createInterface({ input: child.stdout as Readable })) {
    const { event, port, gateway_port: gatewayPort } = JSON.parse(line);
    if (event === "listening") return { resident, port: Number(port), gatewayPort };
  }
  throw new Error("it does not listen");
}

/** The manifest of a deployment in which agents describe themselves at length. */
const LONG_AGENTS = Object.fromEntries(
  Array.from({ length: 8 }, (_, index) => {
    const name = `agent-${index}`;
    const agent = {
      ...{ agtp_version: "1.0", agent_id: String(index).repeat(64), name },
      ...{ description: "x".repeat(MEBIBYTE - 4096), principal: "Test", status: "active" },
      ...{ principal_id: "test.example", issuer: "https://test.example", scopes_accepted: [] },
      issued_at: "2026-01-01T00:00:00Z",
    };
    return [`agents/${name}.agent.json`, JSON.stringify(agent)];
  }),
);

/** Asks several times and reads nothing. */
async function pileUp(port: number): Promise<void> {
  const { socket } = await connectRaw({ port });
  onTestFinished(() => void socket.destroy());
  socket.pause();
  for (let time = 0; time < 4; time += 1) socket.write(MANIFEST);
}

async function expectServed(client: RawClient): Promise<void> {
  const before = (await client.replies(0)).length;
  client.write(echo(1));
  const replies = await client.replies(before + 1);
  expect(replies.at(-1)?.status).toBe(200);
}

describe("a drain", () => {
  it("does not wait for those who do not read as long as for an answer that is being made", async () => {
    const limits = { drain_timeout_ms: 600_000 };
    const { connect, daemon } = await openDaemon(serverFiles({ limits }, LONG_AGENTS));
    for (let peer = 0; peer < 3; peer += 1) {
      const { socket } = await connect();
      socket.pause();
      for (let time = 0; time < 4; time += 1) socket.write(MANIFEST);
    }
    await expectServed(await connect());
    await daemon.drain();
  });
});

describe("many that ask for one long reply and do not read it", () => {
  it("share its body", async () => {
    const { cert, key } = await makeCertificate();
    const files = { "tls/cert.pem": cert, "tls/key.pem": key, ...LONG_AGENTS };
    const tls = { cert: "tls/cert.pem", key: "tls/key.pem" };
    const { configPath } = makeDeployment(serverFiles({ tls }, files));
    const { resident, port } = await startMeasured(configPath);
    const reader = await connectRaw({ port });
    onTestFinished(() => reader.destroy());
    reader.write(MANIFEST);
    const size = (await reader.replies(1))[0]?.text.length ?? 0;
    expect(size).toBeGreaterThan(7 * MEBIBYTE);
    const before = await resident();
    await Promise.all(Array.from({ length: READERS }, () => pileUp(port)));
    // Answered when all that came before it was begun.
    reader.write(Buffer.concat([MANIFEST, MANIFEST]));
    await reader.replies(3);
    const grown = (await resident()) - before;
    // Each would have held one reply at least, and its encrypted form beside it.
    expect(grown / size).toBeLessThan(READERS / 4);
  });
});

describe("a reply that is longer than all that may wait", () => {
  it("is delivered to who reads it, while others are served", async () => {
    const limits = { send_buffer_bytes: 65_536, send_buffer_total_bytes: 131_072 };
    const { connect } = await openDaemon(serverFiles({ limits }));
    const client = await connect();
    client.write(call("QUERY", "/blobs", { size: 8 * MEBIBYTE }));
    await expectServed(await connect());
    const [reply] = await client.replies(1);
    expect(reply?.text.length).toBe(8 * MEBIBYTE + 11);
    await expectServed(client);
  });
});

describe("a peer that reads nothing", () => {
  it("is dropped for others when too much waits, the slowest first", async () => {
    const limits = { send_buffer_total_bytes: 4 * MEBIBYTE };
    const { connect } = await openDaemon(serverFiles({ limits }));
    const deaf: RawClient[] = [];
    const closed: number[] = [];
    for (let index = 0; index < 6; index += 1) {
      const client = await connect();
      client.socket.pause();
      client.socket.once("close", () => closed.push(index));
      client.write(call("QUERY", "/blobs", { size: 16 * MEBIBYTE }));
      deaf.push(client);
      await expectServed(await connect());
    }
    // A reset shows to those who look.
    for (const client of deaf.slice(0, 5)) client.socket.resume();
    await Promise.all(deaf.slice(0, 5).map((client) => client.closed()));
    expect(closed.length).toBeGreaterThanOrEqual(5);
  });

  it("is dropped after the idle timeout, whatever it goes on sending", async () => {
    const { connect } = await openDaemon(serverFiles({ limits: { idle_timeout_ms: 200 } }));
    const deaf = await connect();
    deaf.socket.pause();
    const closed = new Promise<void>((done) => {
      deaf.socket.once("close", () => done());
    });
    deaf.write(call("QUERY", "/blobs", { size: 32 * MEBIBYTE }));
    const look = setInterval(() => deaf.write("x"), 20);
    await closed;
    clearInterval(look);
    await expectServed(await connect());
  });
});
