/** A deployment that outgrows its files moves to PostgreSQL with all that it keeps, and back. */
import { generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { stateCommand } from "../../src/programs/state/command.ts";
import { askOnce, createDaemon, type TestDaemon } from "../support/daemon.ts";
import { createDeployment, type TestDeployment } from "../support/deployment.ts";
import { makeDirectory } from "../support/directory.ts";
import { ALICE, BOB, hostedFiles } from "../support/hosted-agents.ts";
import { describeWithPostgres, postgres } from "../support/postgres.ts";
import { recordOf } from "../support/records.ts";
import { runIn } from "../support/terminal.ts";

const { privateKey } = generateKeyPairSync("ed25519");
const SIGNING_KEY = String(privateKey.export({ type: "pkcs8", format: "pem" }));

/** On files without a URL. */
function makeNode(url?: string): TestDeployment {
  const identity = { lifecycle_auth: "open", inspect_acl: "public" };
  const shared = { store: { driver: "postgres", url }, cluster: { node: "a" } };
  const tables = { signing: { key: "signing.pem" }, ...(url === undefined ? {} : shared) };
  const files = {
    "handlers.mjs": "export const echo = ({ input }) => ({ body: input });",
    "signing.pem": SIGNING_KEY,
  };
  const deployment = createDeployment(hostedFiles(identity, tables, files));
  onTestFinished(() => deployment.remove());
  return deployment;
}

/** Asks a daemon that runs for as long as that takes. */
async function during<T>(deployment: TestDeployment, work: (daemon: TestDaemon) => Promise<T>) {
  const daemon = await createDaemon(deployment);
  try {
    return await work(daemon);
  } finally {
    await daemon.close();
  }
}

async function ask(daemon: TestDaemon, agent: string, method = "QUERY", body: object = {}) {
  const path = method === "QUERY" ? "/lists" : "/";
  return askOnce(daemon, { method, path, headers: { "Agent-ID": agent }, body });
}

function revoke(daemon: TestDaemon, agent: string) {
  return ask(daemon, agent, "REVOKE", { agent_id: agent, reason: "test" });
}

function state({ directory }: TestDeployment, ...args: readonly string[]) {
  return runIn(directory, stateCommand(), args);
}

/** Where the chain of an agent goes on from. */
async function previousOf(daemon: TestDaemon, agent: string): Promise<unknown> {
  return recordOf(await ask(daemon, agent)).payload["previous_audit_id"];
}

describeWithPostgres("agtpd state and PostgreSQL", () => {
  it("moves a deployment from its files into PostgreSQL and back: chains go on, who is revoked stays so", async () => {
    const file = join(makeDirectory(), "state.ndjson");
    const files = makeNode();
    const last = await during(files, async (daemon) => {
      await revoke(daemon, BOB);
      return recordOf(await ask(daemon, ALICE)).auditId;
    });
    expect(await state(files, "export", file)).toMatchObject({ exitCode: 0, err: "" });

    const shared = makeNode(await postgres().makeDatabase());
    const gone = await state(shared, "import", `${file}.gone`);
    expect([gone.exitCode, gone.err]).toEqual([2, expect.stringContaining("cannot read ")]);
    expect(await state(shared, "import", file)).toMatchObject({ exitCode: 0, err: "" });
    const again = await state(shared, "import", file);
    expect([again.exitCode, again.err]).toEqual([
      1,
      expect.stringContaining("the deployment has a state already: --replace"),
    ]);
    const out = join(makeDirectory(), "state.ndjson");
    const latest = await during(shared, async (daemon) => {
      expect(await previousOf(daemon, ALICE)).toBe(last);
      expect((await ask(daemon, BOB)).status).toBe(410);
      const { auditId } = recordOf(await ask(daemon, ALICE));
      // Beside the daemon, by its control socket.
      expect(await state(shared, "export", out)).toMatchObject({ exitCode: 0, err: "" });
      return auditId;
    });

    const back = makeNode();
    expect(await state(back, "import", out)).toMatchObject({ exitCode: 0, err: "" });
    await during(back, async (daemon) => {
      expect(await previousOf(daemon, ALICE)).toBe(latest);
      expect((await ask(daemon, BOB)).status).toBe(410);
    });
  });

  it("has a node that knows better refuse an older backup, until the loss is accepted", async () => {
    const url = await postgres().makeDatabase();
    const node = makeNode(url);
    const backup = join(makeDirectory(), "state.ndjson");
    const first = await during(node, async (daemon) => recordOf(await ask(daemon, ALICE)).auditId);
    expect(await state(node, "export", backup)).toMatchObject({ exitCode: 0 });
    const lost = await during(node, async (daemon) => recordOf(await ask(daemon, ALICE)).auditId);

    const replaced = await state(node, "import", backup, "--replace");
    expect(replaced.err).toBe("");
    expect(replaced.out).toMatch(/what was there is kept as schema agtp_replaced_\w+\n$/);
    await expect(createDaemon(node)).rejects.toThrow(`it lacks record ${lost}`);
    expect((await state(node, "accept-loss", "--reason", "an older backup")).exitCode).toBe(0);
    await during(node, async (daemon) => expect(await previousOf(daemon, ALICE)).toBe(first));
    const [schema = ""] = /agtp_replaced_\w+/.exec(replaced.out) ?? [];
    const [kept] = await postgres().query(`SELECT count(*) AS count FROM ${schema}.records`, url);
    expect(kept).toEqual({ count: "2" });
  });

  it("shows an operator whose role may make nothing the statements, whole", async () => {
    const url = await postgres().makeDatabase();
    await postgres().query("CREATE ROLE newcomer LOGIN", url);
    const node = makeNode(url.replace("agtp@", "newcomer@"));
    const { exitCode, err } = await state(node, "export", join(makeDirectory(), "state.ndjson"));
    expect(exitCode).toBe(1);
    const [, statements = ""] = /may run this:\n([\s\S]*;)\)\n$/.exec(err) ?? [];
    await postgres().query(statements, url);
    const made = await state(node, "export", join(makeDirectory(), "state.ndjson"));
    expect(made).toMatchObject({ exitCode: 0, err: "" });
  });

  it("is not imported while another node serves, and names it", async () => {
    const url = await postgres().makeDatabase();
    const [one, other] = [makeNode(url), makeNode(url)];
    const backup = join(makeDirectory(), "state.ndjson");
    await during(one, async (daemon) => {
      await ask(daemon, ALICE);
      await state(one, "export", backup);
      const refused = await state(other, "import", backup, "--replace");
      expect([refused.exitCode, refused.err]).toEqual([
        1,
        expect.stringContaining('stop every daemon first: there is "a"'),
      ]);
    });
  });
});
