import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startProgram } from "../support/agtpd.ts";
import { agentFile, endpointFile, makeDeployment } from "../support/deployment.ts";
import { encodeRequest } from "../support/dispatch.ts";
import { readJournal } from "../support/records.ts";
import { AGENT_ID, call, echo, PLAIN_HANDLERS, serverFiles } from "../support/server-deployment.ts";

/** Handlers that need no test in the same process. */
const HANDLERS = `
export const echo = ({ input }) => ({ body: input });
export { echo as blob, echo as later, echo as soon };
export const wait = ({ input, log, signal }) => {
  log.info({ event: "handler-started" });
  if (input.id !== "stuck") return new Promise((resolve) => {
    setTimeout(() => resolve({ body: { id: input.id } }), 150);
  });
  return new Promise(() => {
    signal.addEventListener("abort", () => log.info({ event: "handler-aborted" }));
  });
};
`;

function start(limits: object = {}) {
  const { configPath } = makeDeployment(serverFiles({ limits }, { "handlers.mjs": HANDLERS }));
  return startProgram(configPath);
}

describe.each(["SIGTERM", "SIGINT"] as const)("%s", (signal) => {
  it("lets what runs finish, closes what is idle, and exits 0", async () => {
    const daemon = await start();
    const idle = await daemon.connect();
    const busy = await daemon.connect();
    busy.write(Buffer.concat([call("EXECUTE", "/gates", { id: "running" }), echo(2)]));
    await daemon.line("handler-started");
    daemon.child.kill(signal);
    expect(await idle.closed()).toEqual([]);
    const replies = await busy.closed();
    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
    expect((await daemon.outcome).code).toBe(0);
    expect(daemon.log.slice(-1).map(({ event }) => event)).toEqual(["stopped"]);
  });

  it("ends the daemon at once when it comes a second time", async () => {
    const daemon = await start({ drain_timeout_ms: 60_000 });
    const client = await daemon.connect();
    client.write(call("EXECUTE", "/gates", { id: "stuck" }));
    await daemon.line("handler-started");
    daemon.child.kill(signal);
    await daemon.line("draining");
    daemon.child.kill(signal);
    expect((await daemon.outcome).code).toBe(1);
  });

  it("is obeyed as soon as the daemon says that it listens", async () => {
    const daemon = await start();
    daemon.child.kill(signal);
    expect(await daemon.outcome).toMatchObject({ code: 0, signal: null });
  });
});

describe("SIGHUP", () => {
  it("reloads, or says why not, as often as it comes", async () => {
    const { directory, configPath } = makeDeployment(
      serverFiles({}, { "handlers.mjs": PLAIN_HANDLERS }),
    );
    const daemon = await startProgram(configPath);
    const client = await daemon.connect();
    for (const content of ["[[", endpointFile({ method: "QUERY", path: "/novelties" })]) {
      writeFileSync(join(directory, "endpoints/novelties.toml"), content);
      daemon.child.kill("SIGHUP");
      await daemon.line(content === "[[" ? "reload-refused" : "reloaded");
    }
    expect(await daemon.line("problem")).toMatchObject({ file: "endpoints/novelties.toml" });
    client.write(Buffer.concat([call("QUERY", "/novelties"), echo(1)]));
    const replies = await client.replies(2);
    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
  });
});

describe("SIGUSR1", () => {
  it("opens no debugger, in a daemon or its workers", async () => {
    const { configPath } = makeDeployment(
      serverFiles({ server: { workers: 2 } }, { "handlers.mjs": PLAIN_HANDLERS }),
    );
    const daemon = await startProgram(configPath);
    const { pid = 0 } = daemon.child;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    const workers = children
      .trim()
      .split(" ")
      .filter((child) => readFileSync(`/proc/${child}/cmdline`, "utf8").includes("agtpd-worker"));
    expect(workers).toHaveLength(2);
    for (const each of [pid, ...workers]) process.kill(Number(each), "SIGUSR1");
    const client = await daemon.connect();
    client.write(echo(1));
    expect((await client.replies(1)).map(({ status }) => status)).toEqual([200]);
    daemon.child.kill("SIGHUP");
    await daemon.line("reloaded");
    daemon.child.kill("SIGTERM");
    expect(await daemon.outcome).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("SIGHUP during the start", () => {
  it("has what was changed since then read again, once the daemon listens", async () => {
    const novelties = endpointFile({ method: "QUERY", path: "/novelties" });
    // It is loaded behind all endpoints, and goes on once the signal was heard.
    const waiting = `${PLAIN_HANDLERS}
      import { existsSync, writeFileSync } from "node:fs";
      const file = new URL("endpoints/novelties.toml", import.meta.url);
      if (!existsSync(file)) {
        writeFileSync(file, ${JSON.stringify(novelties)});
        const heard = new Promise((resolve) => process.once("SIGHUP", resolve));
        process.kill(process.pid, "SIGHUP");
        await heard;
      }`;
    const { configPath } = makeDeployment(serverFiles({}, { "handlers.mjs": waiting }));
    const daemon = await startProgram(configPath);
    await daemon.line("reloaded");
    const client = await daemon.connect();
    client.write(call("QUERY", "/novelties"));
    expect((await client.replies(1)).map(({ status }) => status)).toEqual([200]);
  });
});

describe("a drain", () => {
  it("aborts what is not done when the drain runs out of time, and exits 0", async () => {
    const daemon = await start({ drain_timeout_ms: 200 });
    const client = await daemon.connect();
    client.write(call("EXECUTE", "/gates", { id: "stuck" }));
    await daemon.line("handler-started");
    const begun = performance.now();
    daemon.child.kill("SIGTERM");
    await client.closed();
    expect((await daemon.outcome).code).toBe(0);
    expect(performance.now() - begun).toBeGreaterThan(150);
    // Otherwise it is waited for ten seconds.
    expect(performance.now() - begun).toBeLessThan(9_000);
    expect(daemon.log.map(({ event }) => event)).toContain("handler-aborted");
  });

  it.each([
    ["that was asked alone", {}, 1],
    ["under an Idempotency-Key", { "Idempotency-Key": "k-1" }, 1],
    ["in one of several workers", {}, 2],
  ])("records a call that has not ended by then, %s", async (_, headers, workers) => {
    const agent = agentFile({ agent_id: AGENT_ID, name: "caller" });
    const files = { "handlers.mjs": HANDLERS, "agents/caller.agent.json": agent };
    const { directory, configPath } = makeDeployment(
      serverFiles({ limits: { drain_timeout_ms: 100 }, server: { workers } }, files),
    );
    const daemon = await startProgram(configPath);
    const client = await daemon.connect();
    const asked = { method: "EXECUTE", path: "/gates", body: { id: "stuck" } };
    client.write(encodeRequest({ ...asked, headers: { "Agent-ID": AGENT_ID, ...headers } }));
    await daemon.line("handler-started");
    daemon.child.kill("SIGTERM");
    expect((await daemon.outcome).code).toBe(0);
    const [record, ...others] = readJournal(join(directory, ".agtp/journal"));
    expect(others).toEqual([]);
    expect(record?.payload).toMatchObject({ method: "EXECUTE", path: "/gates", status: 503 });
    expect(daemon.log.filter(({ event }) => event === "request")).toMatchObject([
      { status: 503, code: "outcome-unknown" },
    ]);
  });

  it("refuses new connections", async () => {
    const daemon = await start();
    const busy = await daemon.connect();
    busy.write(call("EXECUTE", "/gates", { id: "running" }));
    await daemon.line("handler-started");
    daemon.child.kill("SIGTERM");
    await daemon.line("draining");
    await expect(daemon.connect()).rejects.toThrow(/ECONNREFUSED|disconnected|ECONNRESET/);
    await daemon.outcome;
  });

  it("waits for a peer that never closes no longer than for anything else", async () => {
    const daemon = await start({ drain_timeout_ms: 200 });
    const client = await daemon.connect();
    client.socket.allowHalfOpen = true;
    client.socket.pause();
    daemon.child.kill("SIGTERM");
    expect((await daemon.outcome).code).toBe(0);
  });
});
