/** A PostgreSQL that lacks what a node was told is kept: nobody is served from it by accident. */
import { generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { stateCommand } from "../../src/programs/state/command.ts";
import { Link } from "../../tools/torture/cluster/link.ts";
import { askOnce, createDaemon, serve, type TestDaemon } from "../support/daemon.ts";
import { createDeployment, type TestDeployment } from "../support/deployment.ts";
import { encodeRequest } from "../support/dispatch.ts";
import { startLoopClock } from "../support/event-loop.ts";
import { ALICE, BOB, hostedFiles } from "../support/hosted-agents.ts";
import { PATIENCE } from "../support/patience.ts";
import { describeWithPostgres, postgres } from "../support/postgres.ts";
import { recordOf } from "../support/records.ts";
import { runIn } from "../support/terminal.ts";

const { privateKey } = generateKeyPairSync("ed25519");

const ECHO = "export const echo = ({ input }) => ({ body: input });";

function makeNode(url: string, limits: object = {}, handlers: string = ECHO): TestDeployment {
  const identity = { lifecycle_auth: "open", inspect_acl: "public" };
  const tables = {
    signing: { key: "signing.pem" },
    store: { driver: "postgres", url },
    cluster: { node: "a" },
    limits,
  };
  const files = {
    "handlers.mjs": handlers,
    "signing.pem": String(privateKey.export({ type: "pkcs8", format: "pem" })),
  };
  const deployment = createDeployment(hostedFiles(identity, tables, files));
  onTestFinished(() => deployment.remove());
  return deployment;
}

function call(agent: string): Buffer {
  return encodeRequest({ method: "QUERY", path: "/lists", headers: { "Agent-ID": agent } });
}

/** Has a record made, and answers its Audit-ID. */
async function record(daemon: TestDaemon, agent: string): Promise<string> {
  const reply = await askOnce(daemon, call(agent));
  return recordOf(reply).auditId;
}

/** Takes the second of alice's records away again. */
async function loseLast(url: string, first: string, second: string): Promise<void> {
  await postgres().query(
    `DELETE FROM agtp.records WHERE audit_id = '${second}';
     UPDATE agtp.heads SET audit_id = '${first}' WHERE agent_id = '${ALICE}'`,
    url,
  );
}

/** The statement timeout is ten seconds, and an end makes several statements. */
const DRAIN_MS = 1_000;
const STORE_MS = 6_000;
const BUSY_MACHINE_MS = 2_000;

async function acceptLoss({ directory }: TestDeployment) {
  return runIn(directory, stateCommand(), ["accept-loss", "--reason", "a failover"]);
}

describeWithPostgres("a store that went back behind what was acknowledged", () => {
  it("ends a node that runs, with exit code 1, and is not started over until that is accepted", async () => {
    const url = await postgres().makeDatabase();
    const deployment = makeNode(url);
    const daemon = await serve(deployment);
    const first = await record(daemon, ALICE);
    const second = await record(daemon, ALICE);
    await record(daemon, BOB);
    await loseLast(url, first, second);
    // Nobody asks for that agent any more.
    await daemon.daemon.ended;
    expect(daemon.daemon.exitCode).toBe(1);
    const line = { event: "store-went-back", level: "error", agent_id: ALICE, audit_id: second };
    expect(daemon.log).toContainEqual(expect.objectContaining(line));

    await expect(createDaemon(deployment)).rejects.toThrow(`it lacks record ${second}`);
    const accepted = await acceptLoss(deployment);
    expect([accepted.exitCode, accepted.out]).toEqual([
      0,
      `lost: record ${second} of agent ${ALICE}\nthe loss is accepted\n`,
    ]);
    const [kept] = await postgres().query(
      "SELECT value FROM agtp.entries WHERE collection = 'accepted-losses'",
      url,
    );
    expect(JSON.parse(String(kept?.["value"]))).toEqual({
      ...{ reason: "a failover", node: "a" },
      lost: [{ agent_id: ALICE, audit_id: second }],
    });
    expect((await acceptLoss(deployment)).out).toBe("nothing is lost\n");
    expect(await record(await serve(deployment), ALICE)).not.toBe(second);
  });

  it.each(["half-open", "cut"] as const)(
    "ends a node within its drain timeout and six seconds, though the link to it is %s by then",
    async (state) => {
      const url = await postgres().makeDatabase();
      const link = await Link.open(join(postgres().directory, ".s.PGSQL.5432"));
      onTestFinished(() => link.close());
      const database = url.slice(url.indexOf("@/") + 2, url.indexOf("?"));
      const through = `postgres://agtp@127.0.0.1:${link.port}/${database}`;
      const handlers = `let calls = 0;
        export const echo = () => ((calls += 1) > 2 ? new Promise(() => {}) : { body: {} });`;
      const { daemon, ...node } = await serve(
        makeNode(through, { drain_timeout_ms: DRAIN_MS }, handlers),
      );
      const running = { daemon, ...node };
      await loseLast(url, await record(running, ALICE), await record(running, ALICE));
      // The drain waits for this one.
      (await node.connect()).write(call(BOB));
      const found = expect.objectContaining({ event: "store-went-back" });
      await vi.waitFor(() => expect(node.log).toContainEqual(found), PATIENCE);
      link.set(state);
      const clock = startLoopClock();
      await daemon.ended;
      clock.stop();
      expect(clock.ms).toBeLessThan(DRAIN_MS + STORE_MS + BUSY_MACHINE_MS);
      expect(daemon.exitCode).toBe(1);
    },
  );

  it("is not started over when an older copy was put in its place while no node ran", async () => {
    const url = await postgres().makeDatabase();
    const [database] = await postgres().query("SELECT current_database() AS name", url);
    const name = String(database?.["name"]);
    const deployment = makeNode(url);
    const before = await createDaemon(deployment);
    await record(before, ALICE);
    await before.close();
    await postgres().query(`CREATE DATABASE older TEMPLATE ${name}`);
    const after = await createDaemon(deployment);
    const lost = await record(after, BOB);
    await after.close();
    expect(after.daemon.exitCode).toBe(0);
    await postgres().query(`DROP DATABASE ${name}`);
    await postgres().query(`CREATE DATABASE ${name} TEMPLATE older`);
    const refused = `store.url: the store went back: it lacks record ${lost} of agent ${BOB}`;
    await expect(createDaemon(deployment)).rejects.toThrow(refused);
    expect((await acceptLoss(deployment)).exitCode).toBe(0);
    await serve(deployment);
  });
});
