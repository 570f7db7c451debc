import { appendFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { startProgram } from "../support/agtpd.ts";
import { CONSOLE } from "../support/console.ts";
import { closeOf, type RawClient } from "../support/daemon.ts";
import { agentFile, configFile, makeDeployment } from "../support/deployment.ts";
import { encodeRequest, type TestReply } from "../support/dispatch.ts";
import { echo, PLAIN_HANDLERS, serverFiles } from "../support/server-deployment.ts";

/** Opens twice as many connections as there can be, and waits until the other side has closed half. */
async function exhaust(port: number, most: number): Promise<readonly Socket[]> {
  const sockets = Array.from({ length: 2 * most }, () => connect({ host: "127.0.0.1", port }));
  let closed = 0;
  await new Promise<void>((resolve) => {
    for (const socket of sockets) {
      void closeOf(socket.resume()).then(() => {
        closed += 1;
        if (closed > most) resolve();
      });
    }
  });
  return sockets;
}

/** The daemon may not have seen yet that descriptors are free again. */
async function retry<T>(attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      expect(error).toMatchObject({ code: "ECONNRESET" });
    }
  }
}

const GUIDE = "d".repeat(64);

async function describeIn(client: RawClient, accept: string): Promise<TestReply> {
  const headers = { "Agent-ID": GUIDE, Accept: accept };
  client.write(encodeRequest({ method: "DESCRIBE", headers }));
  const [reply] = await client.replies(1);
  if (reply === undefined) throw new Error("no reply");
  return reply;
}

/** Fewer would not do for loading the program. */
const DESCRIPTORS = 256;

describe("a daemon with few file descriptors", () => {
  it("starts with a console, whose files it does not open all at once", async () => {
    const { configPath } = makeDeployment({ "agtp-server.toml": configFile(CONSOLE) });
    const daemon = await startProgram(configPath, { before: "ulimit -n 64" });
    expect(daemon.ready["console_port"]).toBeGreaterThan(0);
  });
});

describe("a daemon without file descriptors", () => {
  it("serves who is in, and everybody when there are some again", async () => {
    const guide = agentFile({ agent_id: GUIDE, name: "guide" });
    const { configPath } = makeDeployment(
      serverFiles({}, { "handlers.mjs": PLAIN_HANDLERS, "agents/guide.agent.json": guide }),
    );
    const daemon = await startProgram(configPath, { before: `ulimit -n ${DESCRIPTORS}` });
    const kept = await daemon.connect();
    const sockets = await exhaust(daemon.port, DESCRIPTORS);
    kept.write(echo(1));
    expect((await kept.replies(1))[0]?.status).toBe(200);
    // Loaded before there was need of it.
    expect((await describeIn(kept, "application/yaml")).status).toBe(200);
    // A reload that begins what it cannot load would leave the parts that it needs broken for good.
    appendFileSync(configPath, "\n[gateway]\nenabled = true\nport = 0\n");
    daemon.child.kill("SIGHUP");
    await daemon.line("reload-refused");
    const open = sockets.filter((socket) => !socket.destroyed);
    expect(open.length).toBeLessThan(DESCRIPTORS);
    const closed = open.map(closeOf);
    for (const socket of open) socket.destroy();
    await Promise.all(closed);
    const client = await retry(() => daemon.connect());
    client.write(echo(2));
    expect((await client.replies(1))[0]?.status).toBe(200);
    expect(daemon.log.filter(({ event }) => event === "fault").length).toBeLessThan(5);
    daemon.child.kill("SIGHUP");
    await daemon.line("reloaded");
    daemon.child.kill("SIGTERM");
    expect((await daemon.outcome).code).toBe(0);
  });
});
