/** A daemon with workers is one daemon to whoever asks, watches, reloads or stops it. */
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { stateCommand } from "../../../src/programs/state/command.ts";
import { createDaemon, type RawClient, type TestDaemon } from "../../support/daemon.ts";
import { createDeployment, endpointFile, type TestDeployment } from "../../support/deployment.ts";
import { ALICE } from "../../support/hosted-agents.ts";
import { CA_EXTENSIONS, CLIENT_EXTENSIONS, OpensslPki } from "../../support/openssl-pki.ts";
import { PATIENCE } from "../../support/patience.ts";
import { readJournal, recordOf, walkChain } from "../../support/records.ts";
import { runIn } from "../../support/terminal.ts";
import {
  askOn,
  bytesOf,
  connectToEach,
  control,
  openWorkers,
  workerFiles,
} from "../../support/workers.ts";

const MEBIBYTE = 1024 * 1024;

async function pidOf(client: RawClient): Promise<number> {
  return Number((await askOn(client, ALICE, "QUERY", "/lists"))?.body["pid"]);
}

function readyLine({ log }: TestDaemon): Readonly<Record<string, unknown>> {
  return log.find(({ event }) => event === "listening") ?? {};
}

/** The sum of a metric over its labels. */
async function measured(daemon: TestDaemon, name: string): Promise<number> {
  const port = Number(readyLine(daemon)["metrics_port"]);
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const lines = text.split("\n").filter((line) => /^\w+/.exec(line)?.[0] === name);
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}

describe("two workers", () => {
  let deployment: TestDeployment;
  let daemon: TestDaemon;

  beforeAll(async () => {
    deployment = createDeployment(workerFiles(2, { cluster: { node: "a" } }));
    daemon = await createDaemon(deployment);
  });

  afterAll(async () => {
    await daemon.close();
    deployment.remove();
  });

  it("says once that it listens, and answers the control socket for all of them", async () => {
    expect(daemon.log.filter(({ event }) => event === "listening")).toHaveLength(1);
    expect(readyLine(daemon)).toMatchObject({ workers: 2, node: "a", port: daemon.daemon.port });
    const clients = await connectToEach(daemon, 3);
    for (const client of clients) await pidOf(client);
    expect(await control(daemon, "status")).toMatchObject({
      ...{ pid: process.pid, ready: true, workers: 2, node: "a", connections: 3 },
      ...{ port: daemon.daemon.port, problems: [] },
    });
    expect((await control(daemon, "nodes"))["nodes"]).toMatchObject([
      { node: "a/1", state: "ready" },
      { node: "a/2", state: "ready" },
    ]);
    // Each worker's requests are in the one log.
    await vi.waitFor(() => {
      expect(daemon.log.filter(({ event }) => event === "request")).toHaveLength(3);
    }, PATIENCE);
  });

  it("resumes a session of TLS on another worker", async () => {
    const first = await daemon.connect();
    const session = new Promise<Buffer>((resolve) => {
      first.socket.once("session", resolve);
    });
    const pids = new Set([await pidOf(first)]);
    const ticket = await session;
    for (let count = 0; count < 3; count += 1) {
      const next = await daemon.connect({ session: ticket });
      expect(next.socket.isSessionReused()).toBe(true);
      pids.add(await pidOf(next));
    }
    expect(pids.size).toBe(2);
  });

  it("resumes on another worker a session whose client has its certificate of an intermediate CA", async () => {
    const pki = new OpensslPki();
    onTestFinished(() => pki.remove());
    const ca = pki.make("root", { extensions: CA_EXTENSIONS }).cert;
    const issuer = pki.make("ca", { issuer: "root", extensions: CA_EXTENSIONS }).cert;
    const { cert, key } = pki.make("client", { issuer: "ca", extensions: CLIENT_EXTENSIONS });
    const shown = { cert: cert + issuer, key };
    const tls = { client_auth: "required", client_ca: "ca.pem" };
    const certified = await openWorkers(2, { tls }, { "ca.pem": ca });
    const first = await certified.connect(shown);
    const session = new Promise<Buffer>((resolve) => {
      first.socket.once("session", resolve);
    });
    const pids = new Set([await pidOf(first)]);
    // The parent has heard of the CA by the first answer, and the other worker by the second.
    for (let turn = 0; turn < 2; turn += 1) await control(certified, "nodes");
    for (let count = 0; count < 3; count += 1) {
      const next = await certified.connect({ ...shown, session: await session });
      expect(next.socket.isSessionReused()).toBe(true);
      pids.add(await pidOf(next));
    }
    expect(pids.size).toBe(2);
  });

  it("reloads all of them, or none", async () => {
    const clients = await connectToEach(daemon, 2);
    const later = join(daemon.directory, "endpoints/later.toml");
    writeFileSync(later, endpointFile({ method: "QUERY", path: "/later" }));
    expect(await control(daemon, "reload")).toMatchObject({ reloaded: true });
    for (const client of clients) {
      expect((await askOn(client, ALICE, "QUERY", "/later"))?.status).toBe(200);
    }
    rmSync(later);
    const config = join(daemon.directory, "agtp-server.toml");
    writeFileSync(config, "[server]\nserver_id = 7\n");
    const refused = await control(daemon, "reload");
    expect(refused).toMatchObject({ reloaded: false });
    expect(refused["problems"]).toHaveLength(1);
    for (const client of clients) {
      expect((await askOn(client, ALICE, "QUERY", "/later"))?.status).toBe(200);
    }
    const told = daemon.log.filter(
      ({ event }) => event === "reloaded" || event === "reload-refused",
    );
    expect(told.map(({ event }) => event)).toEqual(["reloaded", "reload-refused"]);
  });
});

it("sums its metrics, which never fall when a worker is replaced, and tells what that one has read", async () => {
  const daemon = await openWorkers(2, { metrics: { enabled: true, port: 0 } });
  const clients = await connectToEach(daemon, 2);
  const pids = await Promise.all(clients.map(pidOf));
  expect(new Set(pids).size).toBe(2);
  for (const client of clients) await pidOf(client);
  expect(await measured(daemon, "agtp_requests_total")).toBe(4);
  expect(await measured(daemon, "agtp_build_info")).toBe(1);
  const place = `http://127.0.0.1:${readyLine(daemon)["metrics_port"]}`;
  expect((await fetch(`${place}/readyz`)).status).toBe(200);
  // Of both, and their parent.
  expect(await measured(daemon, "process_open_fds")).toBeGreaterThan(3 * 3);
  const spent = await measured(daemon, "process_cpu_seconds_total");
  const changed = { file: "endpoints/later.toml", severity: "warning" };
  const later = endpointFile({ method: "QUERY", path: "/later" });
  writeFileSync(join(daemon.directory, changed.file), later);
  process.kill(pids[0] ?? 0, "SIGKILL");
  await vi.waitFor(() => {
    expect(daemon.log.some(({ event }) => event === "worker-replaced")).toBe(true);
  }, PATIENCE);
  expect(await measured(daemon, "agtp_requests_total")).toBe(4);
  expect(await measured(daemon, "process_cpu_seconds_total")).toBeGreaterThanOrEqual(spent);
  await pidOf(await daemon.connect());
  expect(await measured(daemon, "agtp_requests_total")).toBe(5);
  // It has read what the other has not: that is told until both have.
  await vi.waitFor(async () => {
    const { problems } = await control(daemon, "status");
    expect(problems).toContainEqual(expect.objectContaining(changed));
  }, PATIENCE);
  expect(await control(daemon, "reload")).toMatchObject({ reloaded: true });
  const { problems } = await control(daemon, "status");
  expect(problems).not.toContainEqual(expect.objectContaining(changed));
});

it("reloads also the worker that is begun anew at that moment", async () => {
  const held = `
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
const isHeld = () => existsSync(new URL("hold", import.meta.url));
if (isHeld()) writeFileSync(new URL("loading", import.meta.url), "");
while (isHeld()) await new Promise((resolve) => setTimeout(resolve, 10));
export const echo = ({ input }) => ({ body: { ...input, pid: process.pid } });
`;
  const daemon = await openWorkers(2, {}, { "handlers.mjs": held });
  const [hold, loading] = [join(daemon.directory, "hold"), join(daemon.directory, "loading")];
  const pids = await Promise.all((await connectToEach(daemon, 2)).map(pidOf));
  writeFileSync(hold, "");
  process.kill(Math.max(...pids), "SIGKILL");
  await vi.waitFor(() => expect(existsSync(loading)).toBe(true), PATIENCE);
  // It has read the endpoints, and is still to serve them.
  const later = endpointFile({ method: "QUERY", path: "/later" });
  writeFileSync(join(daemon.directory, "endpoints/later.toml"), later);
  const reloading = control(daemon, "reload");
  rmSync(hold);
  expect(await reloading).toMatchObject({ reloaded: true });
  await vi.waitFor(async () => {
    expect((await control(daemon, "nodes"))["nodes"]).toMatchObject([
      { state: "ready" },
      { state: "ready" },
    ]);
  }, PATIENCE);
  const answers = new Map<number, number | undefined>();
  await vi.waitFor(async () => {
    const client = await daemon.connect();
    const pid = await pidOf(client);
    answers.set(pid, (await askOn(client, ALICE, "QUERY", "/later"))?.status);
    expect(answers.size).toBe(2);
  }, PATIENCE);
  expect([...answers.values()]).toEqual([200, 200]);
});

it("says that nothing is reloaded where none of its workers can begin anew", async () => {
  const daemon = await openWorkers(2);
  const pids = await Promise.all((await connectToEach(daemon, 2)).map(pidOf));
  writeFileSync(join(daemon.directory, "agtp-server.toml"), "[server]\nserver_id = 7\n");
  for (const pid of pids) process.kill(pid, "SIGKILL");
  await vi.waitFor(() => {
    const refused = daemon.log.filter(({ event }) => event === "worker-refused");
    expect(new Set(refused.map(({ worker }) => worker)).size).toBe(2);
    // As a line of a problem has it: no line of the log has a member twice.
    const file = expect.stringContaining("agtp-server.toml");
    const problem = "must be a string, got 7";
    expect(refused[0]).toMatchObject({ file, key: "server.server_id", problem });
  }, PATIENCE);
  expect(await control(daemon, "reload")).toMatchObject({
    reloaded: false,
    problems: [{ message: expect.stringContaining("no worker") }],
  });
});

it("says in its status what keeps a worker from being replaced, until that is mended", async () => {
  const daemon = await openWorkers(2);
  const pids = await Promise.all((await connectToEach(daemon, 2)).map(pidOf));
  const file = join(daemon.directory, "agtp-server.toml");
  const whole = readFileSync(file, "utf8");
  writeFileSync(file, whole.replace("[server]", "[server]\nprot = 1"));
  process.kill(Math.min(...pids), "SIGKILL");
  const message = 'keeps a worker from being replaced: unknown key "prot"';
  await vi.waitFor(async () => {
    const { problems } = await control(daemon, "status");
    expect(problems).toEqual([
      expect.objectContaining({ file: "agtp-server.toml", key: "server.prot", message }),
    ]);
  }, PATIENCE);
  writeFileSync(file, whole);
  await vi.waitFor(() => {
    expect(daemon.log).toContainEqual(expect.objectContaining({ event: "worker-replaced" }));
  }, PATIENCE);
  const { problems } = await control(daemon, "status");
  expect(problems).not.toContainEqual(expect.objectContaining({ key: "server.prot" }));
});

it("answers what it has received before it stops", async () => {
  const slow = `
export const echo = async ({ log, input }) => {
  log.info({ event: "begun" }, "begun");
  await new Promise((resolve) => setTimeout(resolve, 300));
  return { body: { ...input, pid: process.pid } };
};`;
  const daemon = await openWorkers(2, {}, { "handlers.mjs": slow });
  const clients = await connectToEach(daemon, 2);
  for (const client of clients) client.write(bytesOf(ALICE, "QUERY", "/lists"));
  await vi.waitFor(() => {
    expect(daemon.log.filter(({ event }) => event === "begun")).toHaveLength(2);
  }, PATIENCE);
  await daemon.daemon.drain();
  for (const client of clients) {
    expect((await client.closed()).map(({ status }) => status)).toEqual([200]);
  }
  await expect(daemon.connect()).rejects.toThrow();
  expect(daemon.log.filter(({ event }) => event === "stopped")).toHaveLength(1);
});

it("counts the connections to its sidecar as well", async () => {
  const daemon = await openWorkers(2, { gateway: { enabled: true, port: 0 } });
  await connectToEach(daemon, 2);
  const client = connect({ host: "127.0.0.1", port: Number(daemon.daemon.gatewayPort) });
  onTestFinished(() => void client.destroy());
  client.write("GET /.well-known/agtp HTTP/1.1\r\nhost: localhost\r\n\r\n");
  await once(client, "data");
  expect(await control(daemon, "status")).toMatchObject({ connections: 3 });
});

it("takes so many connections as the limits say in all, also when no worker is left for a moment", async () => {
  const daemon = await openWorkers(2, { limits: { max_connections: 3 } });
  const clients = await connectToEach(daemon, 3);
  const pids = new Set(await Promise.all(clients.map((client) => pidOf(client))));
  await expect(daemon.connect()).rejects.toThrow();
  clients[0]?.destroy();
  await vi.waitFor(async () => pidOf(await daemon.connect()), PATIENCE);
  // While all workers are being replaced, connections wait.
  expect(pids.size).toBe(2);
  for (const pid of pids) process.kill(pid, "SIGKILL");
  const next = await Promise.all([daemon.connect(), daemon.connect()]);
  const others = await Promise.all(next.map((client) => pidOf(client)));
  expect(others.filter((pid) => pids.has(pid))).toEqual([]);
});

it("exports what all of them keep, beside what goes on", async () => {
  const daemon = await openWorkers(2);
  const clients = await connectToEach(daemon, 2);
  const auditIds: string[] = [];
  for (const client of clients) {
    const reply = await askOn(client, ALICE, "QUERY", "/lists");
    if (reply !== undefined) auditIds.push(recordOf(reply).auditId);
  }
  const target = createDeployment(workerFiles(1));
  onTestFinished(() => target.remove());
  const file = join(daemon.directory, "state.jsonl");
  expect((await runIn(daemon.directory, stateCommand(), ["export", file])).exitCode).toBe(0);
  await daemon.daemon.drain();
  expect((await runIn(target.directory, stateCommand(), ["import", file])).exitCode).toBe(0);
  const chain = walkChain(readJournal(join(target.directory, ".agtp/journal")), ALICE);
  expect(chain.map(({ auditId }) => auditId)).toEqual(auditIds);
});

it("is exported by who has not its variables, as long as it runs", async () => {
  const daemon = await openWorkers(2);
  const exported = (file: string) =>
    runIn(daemon.directory, stateCommand(), ["export", join(daemon.directory, file)]);
  const toml = 'server_id = "${' + 'OF_THE_DAEMON}"';
  writeFileSync(join(daemon.directory, "agtp-server.toml"), `[server]\n${toml}\n`);
  expect(await exported("beside.jsonl")).toMatchObject({ exitCode: 0, err: "" });
  await daemon.daemon.drain();
  const refused = await exported("without.jsonl");
  expect(refused).toMatchObject({ exitCode: 2, err: expect.stringContaining("OF_THE_DAEMON") });
  expect(readdirSync(daemon.directory).filter((name) => name.includes("without"))).toEqual([]);
});

it("refuses what stops its first worker, and leaves nothing behind", async () => {
  const broken = { "endpoints/broken.toml": "[endpoint" };
  const start = openWorkers(2, { server: { on_invalid: "fail" } }, broken);
  await expect(start).rejects.toThrow("endpoints/broken.toml");
});

it("what waits to be sent is bounded in all workers together", async () => {
  // One such reply fits into the share of a worker, and is more than the kernel takes; two do not fit.
  const limits = { send_buffer_total_bytes: 24 * MEBIBYTE };
  const long = `export const echo = () => ({ body: { text: "x".repeat(${8 * MEBIBYTE}) } });`;
  // A worker that is busy with them for longer than its lease would refuse.
  const cluster = { view_lease_ms: 60_000 };
  const settings = { cluster, limits, metrics: { enabled: true, port: 0 } };
  const daemon = await openWorkers(2, settings, { "handlers.mjs": long });
  const clients = await connectToEach(daemon, 4);
  for (const { socket } of clients) {
    socket.pause();
    socket.write(bytesOf(ALICE, "QUERY", "/lists"));
  }
  await expect.poll(() => measured(daemon, "agtp_requests_total"), PATIENCE).toBe(4);
  const replies = clients.map((client) => client.replies(1));
  // A reset shows to those who look.
  for (const { socket } of clients) socket.resume();
  const statuses = (await Promise.all(replies)).map(([reply]) => reply?.status);
  expect(statuses.toSorted()).toEqual([200, 200, undefined, undefined]);
});
