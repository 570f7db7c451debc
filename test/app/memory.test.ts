import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { describe, expect, it, onTestFinished } from "vitest";
import { makeCertificate } from "../support/certificate.ts";
import { connectRaw } from "../support/daemon.ts";
import { makeDeployment } from "../support/deployment.ts";
import { serverFiles } from "../support/server-deployment.ts";

const PROJECT = resolve(import.meta.dirname, "../..");
const CONNECTIONS = 200;
const MAX_BYTES = 40 * 1024;

const tls = { cert: "tls/cert.pem", key: "tls/key.pem" };

/** Runs a script that says where it listens, and that answers how much memory it holds. */
async function start(script: string, args: readonly string[]) {
  // What is held, not what is resident: pages that are kept for later are noise.
  const probe = `process.on("message", () => {
    gc();
    const { heapUsed, external } = process.memoryUsage();
    process.send(heapUsed + external);
  })`;
  const flags = ["--expose-gc", "--import", `data:text/javascript,${encodeURIComponent(probe)}`];
  const child = spawn(process.execPath, [...flags, resolve(PROJECT, script), ...args], {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  for await (const line of createInterface({ input: child.stdout as Readable })) {
    const { event, port } = JSON.parse(line);
    if (event === "listening") return { child, port: Number(port) };
  }
  throw new Error("it does not listen");
}

async function heldBytes(child: ChildProcess): Promise<number> {
  child.send("?");
  const [bytes] = await once(child, "message");
  return bytes;
}

/** What one idle connection costs, after as many have come and gone. */
async function bytesPerConnection(script: string, args: readonly string[]): Promise<number> {
  const { child, port } = await start(script, args);
  const open = () => Promise.all(Array.from({ length: CONNECTIONS }, () => connectRaw({ port })));
  const first = await open();
  const before = await heldBytes(child);
  const second = await open();
  const after = await heldBytes(child);
  for (const client of [...first, ...second]) client.destroy();
  child.kill("SIGKILL");
  return (after - before) / CONNECTIONS;
}

describe("an idle connection", () => {
  it("costs less than 40 KB beyond what TLS takes", async () => {
    const { cert, key } = await makeCertificate();
    const { directory, configPath } = makeDeployment(
      serverFiles({ tls }, { "tls/cert.pem": cert, "tls/key.pem": key }),
    );
    const files = [resolve(directory, tls.cert), resolve(directory, tls.key)];
    const raw = await bytesPerConnection("test/support/raw-tls-server.mjs", files);
    const daemon = ["--config", configPath, "--port", "0"];
    const whole = await bytesPerConnection("dist/tools/agtpd.js", daemon);
    expect(whole - raw).toBeLessThan(MAX_BYTES);
  });
});
