/** Workers and parents that are killed: what was acknowledged is kept, and somebody goes on. */
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { Link } from "../../../src/base/link.ts";
import { startProgram } from "../../support/agtpd.ts";
import type { RawClient, TestDaemon } from "../../support/daemon.ts";
import { makeDeployment } from "../../support/deployment.ts";
import { makeDirectory } from "../../support/directory.ts";
import { ALICE, BOB } from "../../support/hosted-agents.ts";
import { PATIENCE } from "../../support/patience.ts";
import { readJournal, recordOf, walkChain } from "../../support/records.ts";
import {
  askOn,
  bytesOf,
  connectToEach,
  control,
  openWorkers,
  recordsIn,
  workerFiles,
} from "../../support/workers.ts";

const KILLED = 3;
const IN_FLIGHT = 8;

/** Calls one after the other until the test has enough; a connection that is lost is opened anew. */
async function call(
  daemon: TestDaemon,
  agent: string,
  seen: string[],
  isEnough: () => boolean,
): Promise<void> {
  while (!isEnough()) {
    let client: RawClient;
    try {
      client = await daemon.connect();
    } catch {
      continue;
    }
    let count = 0;
    while (!isEnough()) {
      client.write(bytesOf(agent, "QUERY", "/lists"));
      count += 1;
      const replies = await client.replies(count);
      const reply = replies[count - 1];
      if (reply === undefined) break;
      expect([200, 503]).toContain(reply.status);
      if (reply.status === 200) seen.push(recordOf(reply).auditId);
    }
    client.destroy();
  }
}

/** Keeps calls under way, one more for each that is answered, until the connection ends. */
async function pipeline(client: RawClient, agent: string, seen: string[]): Promise<void> {
  for (let more = 0; more < IN_FLIGHT; more += 1) client.write(bytesOf(agent, "QUERY", "/lists"));
  for (let count = 1; ; count += 1) {
    const reply = (await client.replies(count))[count - 1];
    if (reply === undefined) return;
    expect([200, 503]).toContain(reply.status);
    if (reply.status === 200) seen.push(recordOf(reply).auditId);
    client.write(bytesOf(agent, "QUERY", "/lists"));
  }
}

it("replaces a worker that is killed under load, and loses nothing that was acknowledged", async () => {
  const daemon = await openWorkers(2);
  const seen = new Map<string, string[]>([
    [ALICE, []],
    [BOB, []],
  ]);
  let isDone = false;
  const callers = [ALICE, ALICE, ALICE, BOB].map((agent) =>
    call(daemon, agent, seen.get(agent) ?? [], () => isDone),
  );
  for (let killed = 0; killed < KILLED; killed += 1) {
    const enough = (seen.get(ALICE)?.length ?? 0) + 20;
    await vi.waitFor(() => expect(seen.get(ALICE)?.length).toBeGreaterThan(enough), PATIENCE);
    const client = await daemon.connect();
    const reply = await askOn(client, ALICE, "QUERY", "/lists");
    expect(reply?.status, reply?.text).toBe(200);
    process.kill(Number(reply?.body["pid"]), "SIGKILL");
    await vi.waitFor(() => {
      const replaced = daemon.log.filter(({ event }) => event === "worker-replaced");
      expect(replaced).toHaveLength(killed + 1);
    }, PATIENCE);
  }
  isDone = true;
  await Promise.all(callers);
  const records = recordsIn(daemon);
  for (const [agent, auditIds] of seen) {
    const chain = new Set(walkChain(records, agent).map(({ auditId }) => auditId));
    expect(auditIds.filter((auditId) => !chain.has(auditId))).toEqual([]);
    expect(new Set(auditIds).size).toBe(auditIds.length);
  }
  expect((await control(daemon, "nodes"))["nodes"]).toHaveLength(2);
});

it("reloads beside a worker that hangs when it is replaced, which begins anew with what is there then", async () => {
  const directory = makeDirectory();
  const [flag, hangs] = [join(directory, "flag"), join(directory, "hangs")];
  const handlers = `import { existsSync, writeFileSync } from "node:fs";
    if (existsSync(${JSON.stringify(flag)})) {
      writeFileSync(${JSON.stringify(hangs)}, "");
      await new Promise(() => setInterval(() => 0, 1_000));
    }
    export const echo = ({ input }) => ({ body: { ...input, pid: process.pid } });`;
  const daemon = await openWorkers(2, {}, { "handlers.mjs": handlers });
  const client = await daemon.connect();
  const pid = Number((await askOn(client, ALICE, "QUERY", "/lists"))?.body["pid"]);
  writeFileSync(flag, "");
  process.kill(pid, "SIGKILL");
  await vi.waitFor(() => expect(existsSync(hangs)).toBe(true), PATIENCE);
  rmSync(flag);
  expect(await control(daemon, "reload")).toMatchObject({ reloaded: true });
  await vi.waitFor(() => {
    expect(daemon.log.filter(({ event }) => event === "worker-replaced")).toHaveLength(1);
  }, PATIENCE);
});

// AGTP "REVOKE"
it("answers a revocation while the other worker stands still, which serves the agent no more and is shown as lost", async () => {
  const daemon = await openWorkers(2, { cluster: { view_lease_ms: 1_000 } });
  const clients = await connectToEach(daemon, 2);
  const pids = await Promise.all(
    clients.map(async (client) =>
      Number((await askOn(client, ALICE, "QUERY", "/lists"))?.body["pid"]),
    ),
  );
  expect(new Set(pids).size).toBe(2);
  const [first, second] = clients;
  const stopped = pids[1] ?? 0;
  if (first === undefined || second === undefined) throw new Error("no clients");
  process.kill(stopped, "SIGSTOP");
  try {
    const revoked = await askOn(first, BOB, "REVOKE", "/", { agent_id: ALICE, reason: "test" });
    expect(revoked?.status).toBe(200);
    const { nodes } = await control(daemon, "nodes");
    const states = (nodes as readonly { readonly state: string }[]).map(({ state }) => state);
    expect(states.sort()).toEqual(["lost", "ready"]);
    expect(daemon.log.filter(({ event }) => event === "worker-silent")).toHaveLength(1);
    second.write(bytesOf(ALICE, "QUERY", "/lists"));
  } finally {
    process.kill(stopped, "SIGCONT");
  }
  const late = (await second.replies(2))[1];
  expect([410, 503]).toContain(late?.status);
  await vi.waitFor(async () => {
    expect((await askOn(second, ALICE, "QUERY", "/lists"))?.status).toBe(410);
  }, PATIENCE);
});

it("refuses a reload beside a worker that ends meanwhile, which it names with its end", async () => {
  const daemon = await openWorkers(2);
  const clients = await connectToEach(daemon, 2);
  const pids = await Promise.all(
    clients.map(async (client) =>
      Number((await askOn(client, ALICE, "QUERY", "/lists"))?.body["pid"]),
    ),
  );
  for (const pid of pids) process.kill(pid, "SIGSTOP");
  const asked = vi.spyOn(Link.prototype, "ask");
  const reloading = control(daemon, "reload");
  await vi.waitFor(() => {
    expect(asked).toHaveBeenCalledWith("prepare", expect.anything());
  }, PATIENCE);
  asked.mockRestore();
  for (const pid of pids) process.kill(pid, "SIGKILL");
  const { reloaded, problems } = await reloading;
  expect(reloaded).toBe(false);
  const ended =
    /^worker \S+\/1 cannot build the deployment: it has ended \(SIGKILL\) and is being /;
  expect(problems).toEqual([{ file: "", key: "", message: expect.stringMatching(ended) }]);
  await vi.waitFor(async () => {
    expect((await control(daemon, "reload"))["reloaded"]).toBe(true);
  }, PATIENCE);
});

it("ends its workers when it is killed itself, and another daemon goes on from what they kept", async () => {
  const { configPath, directory } = makeDeployment(workerFiles(2));
  const running = await startProgram(configPath);
  expect(running.ready).toMatchObject({ workers: 2 });
  const client = await running.connect();
  const pid = Number((await askOn(client, ALICE, "QUERY", "/lists"))?.body["pid"]);
  expect(pid).not.toBe(running.child.pid);
  // Several batches of each chain are under way when it dies.
  const seen = new Map<string, string[]>([
    [ALICE, []],
    [BOB, []],
  ]);
  // One that is still connecting when the daemon dies is no caller yet, and is reset.
  const connected = await Promise.all(
    [ALICE, ALICE, BOB, BOB].map(async (agent) => ({ agent, client: await running.connect() })),
  );
  const callers = connected.map(({ agent, client }) =>
    pipeline(client, agent, seen.get(agent) ?? []),
  );
  await vi.waitFor(() => {
    for (const auditIds of seen.values()) expect(auditIds.length).toBeGreaterThan(40);
  }, PATIENCE);
  running.child.kill("SIGKILL");
  await running.outcome;
  await Promise.all(callers);
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"), PATIENCE);
  const next = await startProgram(configPath);
  const again = await askOn(await next.connect(), ALICE, "QUERY", "/lists");
  expect(again?.status).toBe(200);
  if (again === undefined) throw new Error("no reply");
  const records = readJournal(`${directory}/.agtp/journal`);
  for (const [agent, auditIds] of seen) {
    const chain = walkChain(records, agent).map(({ auditId }) => auditId);
    const kept = new Set(chain);
    expect(auditIds.filter((auditId) => !kept.has(auditId))).toEqual([]);
    if (agent === ALICE) expect(chain.at(-1)).toBe(recordOf(again).auditId);
  }
});

it("leaves no worker behind that stands still when its parent is killed", async () => {
  const { configPath } = makeDeployment(workerFiles(2));
  const running = await startProgram(configPath);
  const client = await running.connect();
  const pid = Number((await askOn(client, ALICE, "QUERY", "/lists"))?.body["pid"]);
  process.kill(pid, "SIGSTOP");
  onTestFinished(() => {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It is gone, as it should be.
    }
  });
  running.child.kill("SIGKILL");
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"), PATIENCE);
  // Nobody has the port any more, which such a worker would have kept from the next daemon.
  const next = await startProgram(configPath, { args: ["--port", String(running.port)] });
  expect(next.port).toBe(running.port);
});
