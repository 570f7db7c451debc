/** A PostgreSQL that lacks what a node was told is kept: nobody is served from it by accident. */
import { generateKeyPairSync } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { stateCommand } from "../../src/programs/state/command.ts";
import { createDaemon, type TestDaemon } from "../support/daemon.ts";
import { createDeployment, type TestDeployment } from "../support/deployment.ts";
import { encodeRequest } from "../support/dispatch.ts";
import { ALICE, BOB, hostedFiles } from "../support/hosted-agents.ts";
import { describeWithPostgres, postgres } from "../support/postgres.ts";
import { recordOf } from "../support/records.ts";
import { runIn } from "../support/terminal.ts";

const { privateKey } = generateKeyPairSync("ed25519");

function makeNode(url: string): TestDeployment {
  const identity = { lifecycle_auth: "open", inspect_acl: "public" };
  const tables = {
    signing: { key: "signing.pem" },
    store: { driver: "postgres", url },
    cluster: { node: "a" },
  };
  const files = {
    "handlers.mjs": "export const echo = ({ input }) => ({ body: input });",
    "signing.pem": String(privateKey.export({ type: "pkcs8", format: "pem" })),
  };
  const deployment = createDeployment(hostedFiles(identity, tables, files));
  onTestFinished(() => deployment.remove());
  return deployment;
}

async function start(deployment: TestDeployment): Promise<TestDaemon> {
  const daemon = await createDaemon(deployment);
  onTestFinished(() => daemon.close());
  return daemon;
}

/** Has a record made, and answers its Audit-ID. */
async function record(daemon: TestDaemon, agent: string): Promise<string> {
  const client = await daemon.connect();
  client.write(encodeRequest({ method: "QUERY", path: "/lists", headers: { "Agent-ID": agent } }));
  const [reply] = await client.replies(1);
  if (reply === undefined) throw new Error("no reply");
  return recordOf(reply).auditId;
}

async function acceptLoss({ directory }: TestDeployment) {
  return runIn(directory, stateCommand(), ["accept-loss", "--reason", "a failover"]);
}

describeWithPostgres("a store that went back behind what was acknowledged", () => {
  it("ends a node that runs, with exit code 1, and is not started over until that is accepted", async () => {
    const url = await postgres().makeDatabase();
    const deployment = makeNode(url);
    const daemon = await start(deployment);
    const first = await record(daemon, ALICE);
    const second = await record(daemon, ALICE);
    await record(daemon, BOB);
    await postgres().query(
      `DELETE FROM agtp.records WHERE audit_id = '${second}';
       UPDATE agtp.heads SET audit_id = '${first}' WHERE agent_id = '${ALICE}'`,
      url,
    );
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
    expect(await record(await start(deployment), ALICE)).not.toBe(second);
  });

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
    await start(deployment);
  });
});
