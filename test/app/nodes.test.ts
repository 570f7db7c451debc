/** Two daemons over one PostgreSQL: one chain an agent, one standing of it, whoever is asked. */
import { createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { askDaemon } from "../../src/programs/control-commands.ts";
import { FeedWatchers } from "../../src/state/feed-watchers.ts";
import { Link } from "../../tools/torture/cluster/link.ts";
import { askOnce, openDaemon, type RawClient, type TestDaemon } from "../support/daemon.ts";
import { encodeRequest, type TestReply } from "../support/dispatch.ts";
import { ALICE, BOB, hostedFiles } from "../support/hosted-agents.ts";
import { PATIENCE, PATIENT_CLUSTER } from "../support/patience.ts";
import { describeWithPostgres, postgres } from "../support/postgres.ts";
import { isSigned, type ReadRecord, readJws, recordOf, walkChain } from "../support/records.ts";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const PRIVATE_KEY = String(privateKey.export({ type: "pkcs8", format: "pem" }));
const PUBLIC_KEY: KeyObject = createPublicKey(publicKey.export({ type: "spki", format: "pem" }));

type Tables = Readonly<Record<string, object>>;

function openNode(url: string, node: string, more: Tables = {}): Promise<TestDaemon> {
  const identity = { lifecycle_auth: "open", inspect_acl: "public" };
  const tables = {
    signing: { key: "signing.pem" },
    store: { driver: "postgres", url },
    cluster: { node, ...PATIENT_CLUSTER },
    ...more,
  };
  const handlers = "export const echo = ({ input }) => ({ body: input });";
  const files = { "handlers.mjs": handlers, "signing.pem": PRIVATE_KEY };
  return openDaemon(hostedFiles(identity, tables, files));
}

function bytes(agent: string | undefined, method: string, path: string, body: object = {}): Buffer {
  const headers = agent === undefined ? {} : { "Agent-ID": agent };
  return encodeRequest({ method, path, headers, body });
}

async function ask(daemon: TestDaemon, ...request: Parameters<typeof bytes>): Promise<TestReply> {
  return askOnce(daemon, bytes(...request));
}

/** Asks in small batches, so that the nodes are at it at the same time. */
async function askOften(
  client: RawClient,
  agent: string,
  rounds: number,
): Promise<readonly TestReply[]> {
  let count = 0;
  for (let round = 0; round < rounds; round += 1) {
    const batch = 1 + (round % 3);
    for (let more = 0; more < batch; more += 1) client.write(bytes(agent, "QUERY", "/lists"));
    count += batch;
    await client.replies(count);
  }
  return client.replies(count);
}

async function recordsOf(url: string): Promise<readonly ReadRecord[]> {
  const rows = await postgres().query("SELECT jws FROM agtp.records ORDER BY number", url);
  return rows.map(({ jws }) => readJws(String(jws)));
}

function control({ directory }: TestDaemon, command: "nodes" | "status") {
  return askDaemon({ command, config: "agtp-server.toml" }, { directory });
}

async function nodesOf(node: TestDaemon): Promise<unknown> {
  return (await control(node, "nodes"))["nodes"];
}

describeWithPostgres("two nodes of one store", () => {
  // AGTP-IDENTIFIERS "Attribution Chain"
  it("keep one chain an agent, with every record that a client has seen in it once", async () => {
    const url = await postgres().makeDatabase();
    const nodes = [await openNode(url, "a"), await openNode(url, "b")];
    const seen = new Map<string, string[]>([
      [ALICE, []],
      [BOB, []],
    ]);
    const callers = nodes.flatMap((node) => [ALICE, ALICE, BOB].map((agent) => ({ node, agent })));
    await Promise.all(
      callers.map(async ({ node, agent }) => {
        for (const reply of await askOften(await node.connect(), agent, 20)) {
          expect(reply.status).toBe(200);
          seen.get(agent)?.push(recordOf(reply).auditId);
        }
      }),
    );
    const records = await recordsOf(url);
    for (const [agent, auditIds] of seen) {
      const chain = walkChain(records, agent);
      expect(chain.map(({ auditId }) => auditId).toSorted()).toEqual(auditIds.toSorted());
      for (const { jws } of chain) expect(isSigned(jws, PUBLIC_KEY)).toBe(true);
      const times = chain.map(({ payload }) => String(payload["issued_at"]));
      expect(times).toEqual(times.toSorted());
      // Each node says the same of where it ends.
      for (const node of nodes) {
        const body = { target: "chain_head", agent_id: agent };
        const head = await ask(node, undefined, "INSPECT", "/", body);
        expect(head.body["result"]).toMatchObject({ audit_id: chain.at(-1)?.auditId });
      }
    }
  });

  it("serve an agent no more, on any of them, once its revocation was answered", async () => {
    const url = await postgres().makeDatabase();
    const [first, second] = [await openNode(url, "a"), await openNode(url, "b")];
    expect((await ask(second, ALICE, "QUERY", "/lists")).status).toBe(200);
    const revoked = await ask(first, ALICE, "REVOKE", "/", { agent_id: ALICE, reason: "test" });
    expect(revoked.status).toBe(200);
    const after = await ask(second, ALICE, "QUERY", "/lists");
    expect(after.status).toBe(410);
    expect((await ask(second, BOB, "QUERY", "/lists")).status).toBe(200);
  });

  // AGTP "Status Sub-Resource"
  it("tell what an agent did last, whichever of them it did it on", async () => {
    const url = await postgres().makeDatabase();
    const nodes = [await openNode(url, "a"), await openNode(url, "b")] as const;
    for (const [here, there] of [nodes, nodes, nodes.toReversed()]) {
      if (here === undefined || there === undefined) throw new Error("no nodes");
      const { payload } = recordOf(await ask(here, ALICE, "BOOK", "/rooms"));
      const status = await ask(there, BOB, "FETCH", `/agents/${ALICE}/status`);
      expect(status.body).toMatchObject({
        last_action_method: "BOOK",
        last_action_timestamp: payload["issued_at"],
      });
      // Another method, so that what comes is not what was.
      expect((await ask(there, ALICE, "QUERY", "/lists")).status).toBe(200);
      const { body } = await ask(here, BOB, "FETCH", `/agents/${ALICE}/status`);
      expect(body["last_action_method"]).toBe("QUERY");
    }
  });

  it("serve a revoked agent on none of them, though one hears of it late, and then too late", async () => {
    const url = await postgres().makeDatabase();
    const link = await Link.open(join(postgres().directory, ".s.PGSQL.5432"));
    onTestFinished(() => link.close());
    const database = url.slice(url.indexOf("@/") + 2, url.indexOf("?"));
    const cluster = { view_lease_ms: 3_000 };
    const near = await openNode(url, "a", { cluster: { ...cluster, node: "a" } });
    const far = await openNode(`postgres://agtp@127.0.0.1:${link.port}/${database}`, "b", {
      cluster: { ...cluster, node: "b" },
      metrics: { enabled: true, port: 0 },
    });
    const told = far.log.find(({ event }) => event === "listening");
    const readiness = async (): Promise<number> =>
      (await fetch(`http://127.0.0.1:${told?.["metrics_port"]}/readyz`)).status;
    const askFar = async (agent: string): Promise<number> =>
      (await ask(far, agent, "QUERY", "/lists")).status;
    expect(await askFar(ALICE)).toBe(200);
    // Its records are kept, and its view is behind by as much as the others wait for.
    link.slow(250);
    const body = { agent_id: ALICE, reason: "test" };
    expect((await ask(near, ALICE, "REVOKE", "/", body)).status).toBe(200);
    expect(await askFar(ALICE)).not.toBe(200);
    // Records could still be kept, and what it has heard is older than its lease.
    link.slow(2_000);
    await vi.waitFor(async () => expect(await askFar(BOB)).toBe(503), PATIENCE);
    await vi.waitFor(async () => expect(await readiness()).toBe(503), PATIENCE);
    link.slow(0);
    await vi.waitFor(async () => expect(await askFar(BOB)).toBe(200), PATIENCE);
    await vi.waitFor(async () => expect(await readiness()).toBe(200), PATIENCE);
    expect(await askFar(ALICE)).toBe(410);
  });

  it("answer 503 while their database is gone, lose no record, and go on by themselves", async () => {
    const url = await postgres().makeDatabase();
    const nodes = [await openNode(url, "a"), await openNode(url, "b")];
    const seen: string[] = [];
    const tryOnce = async (node: TestDaemon): Promise<TestReply | undefined> => {
      const reply = await askOnce(node, bytes(ALICE, "QUERY", "/lists"));
      if (reply?.status === 200) seen.push(recordOf(reply).auditId);
      return reply;
    };
    const until = async (node: TestDaemon, status: number): Promise<TestReply> => {
      for (;;) {
        const reply = await tryOnce(node);
        if (reply?.status === status) return reply;
      }
    };
    await Promise.all(nodes.map((node) => until(node, 200)));
    postgres().crash();
    await Promise.all(
      nodes.map(async (node) => {
        // What ran while the database went may have been kept, and what comes later does not run.
        for (let code: unknown = "outcome-unknown"; code === "outcome-unknown"; ) {
          const reply = await until(node, 503);
          code = reply.body["error"]?.["code"];
          expect(["outcome-unknown", "store-unavailable"]).toContain(code);
          expect(reply.headers.get("retry-after")).toBe("1");
          expect(reply.headers.get("attribution-record")).toBeUndefined();
        }
        // An operator is told all the rest.
        expect(await control(node, "status")).toMatchObject({
          ready: true,
          journal_segments: null,
        });
      }),
    );
    postgres().start();
    await Promise.all(nodes.map((node) => until(node, 200)));
    for (const { log } of nodes) expect(log.filter(({ event }) => event === "fault")).toEqual([]);
    const chain = walkChain(await recordsOf(url), ALICE).map(({ auditId }) => auditId);
    expect(chain).toEqual(expect.arrayContaining(seen));
    expect(new Set(chain).size).toBe(chain.length);
  });

  // The server itself answers as it does with a disk that is full, and as a standby does.
  it.each([
    {
      kind: "full",
      begin: `CREATE FUNCTION agtp.full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
        CREATE TRIGGER full_entries BEFORE INSERT OR UPDATE ON agtp.entries EXECUTE FUNCTION agtp.full();
        CREATE TRIGGER full_records BEFORE INSERT ON agtp.records EXECUTE FUNCTION agtp.full()`,
      end: "DROP FUNCTION agtp.full CASCADE",
    },
    {
      kind: "read-only",
      begin: "ALTER DATABASE DB SET default_transaction_read_only = on",
      end: "ALTER DATABASE DB RESET default_transaction_read_only",
    },
  ])("say once that their database is $kind, answer 503, and go on by themselves", async (way) => {
    const url = await postgres().makeDatabase();
    const node = await openNode(url, "a");
    const tellsOf = (kind: string): readonly object[] =>
      node.log.filter((line) => line["event"] === "store-unavailable" && line["kind"] === kind);
    expect((await ask(node, ALICE, "QUERY", "/lists")).status).toBe(200);
    const renewConnections = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name = 'agtpd'`;
    const [{ name } = {}] = await postgres().query("SELECT current_database() AS name", url);
    const change = async (sql: string): Promise<void> => {
      // A database that is read-only is changed from another one.
      await postgres().query(sql.replace("DB", String(name)), sql.includes("DB") ? undefined : url);
      await postgres().query(renewConnections);
    };
    await change(way.begin);
    const until = (status: number): Promise<TestReply> =>
      vi.waitFor(async () => {
        const reply = await ask(node, ALICE, "QUERY", "/lists");
        expect(reply.status).toBe(status);
        return reply;
      }, PATIENCE);
    expect((await until(503)).headers.get("retry-after")).toBe("1");
    await vi.waitFor(() => expect(tellsOf(way.kind)).toHaveLength(1), PATIENCE);
    await change(way.end);
    await until(200);
    expect(tellsOf(way.kind)).toHaveLength(1);
    const seen = node.log.map((line) => line["event"]);
    expect(seen.lastIndexOf("store-available")).toBeGreaterThan(
      seen.lastIndexOf("store-unavailable"),
    );
    expect(seen).not.toContain("fault");
  });

  it("refuse a second one with a name that is taken", async () => {
    const url = await postgres().makeDatabase();
    await openNode(url, "a");
    await expect(openNode(url, "a")).rejects.toThrow('another daemon is the node "a"');
  });

  it("end once the store lacks what was acknowledged", async () => {
    const url = await postgres().makeDatabase();
    const node = await openNode(url, "a");
    const client = await node.connect();
    for (let count = 1; count <= 2; count += 1) {
      client.write(bytes(ALICE, "QUERY", "/lists"));
      await client.replies(count);
    }
    const [first, second] = (await client.replies(2)).map((reply) => recordOf(reply).auditId);
    await postgres().query(
      `DELETE FROM agtp.records WHERE audit_id = '${second}';
       UPDATE agtp.heads SET audit_id = '${first}' WHERE agent_id = '${ALICE}'`,
      url,
    );
    client.write(bytes(ALICE, "QUERY", "/lists"));
    const [, , lost] = await client.replies(3);
    expect(lost?.status).not.toBe(200);
    await node.daemon.ended;
    expect(node.daemon.exitCode).toBe(1);
    expect(node.log).toContainEqual(
      expect.objectContaining({ event: "store-went-back", audit_id: second, level: "error" }),
    );
    expect(await recordsOf(url)).toHaveLength(1);
  });

  it("take everything in anew where a server that knows less has taken the place of theirs", async () => {
    const url = await postgres().makeDatabase();
    const [first, second] = [await openNode(url, "a"), await openNode(url, "b")];
    postgres().copy();
    // Numbers that the other server will use again.
    for (let count = 0; count < 50; count += 1) {
      await postgres().query("SELECT pg_current_xact_id()", url);
    }
    const [{ number } = {}] = await postgres().query("SELECT pg_current_xact_id() AS number", url);
    await vi.waitFor(async () => {
      const [row] = await postgres().query("SELECT min(taken) AS taken FROM agtp.nodes", url);
      expect(Number(row?.["taken"])).toBeGreaterThanOrEqual(Number(number));
    }, PATIENCE);
    postgres().putBack();
    const body = { agent_id: ALICE, reason: "test" };
    const revoked = await vi.waitFor(async () => {
      const reply = await ask(first, ALICE, "REVOKE", "/", body);
      expect(reply.status).toBe(200);
      return reply;
    }, PATIENCE);
    expect((await ask(second, ALICE, "QUERY", "/lists")).status).not.toBe(200);
    expect(recordOf(revoked).payload["status"]).toBe(200);
    await vi.waitFor(async () => {
      expect((await ask(second, BOB, "QUERY", "/lists")).status).toBe(200);
    }, PATIENCE);
    expect((await ask(second, ALICE, "QUERY", "/lists")).status).toBe(410);

    // Another one, which has the record of the revocation, and not yet what it led to.
    await postgres().query(
      "DELETE FROM agtp.entries WHERE collection IN ('lifecycle', 'lifecycle-events')",
      url,
    );
    postgres().crash();
    postgres().start();
    await vi.waitFor(async () => {
      const entries = await postgres().query(
        "SELECT FROM agtp.entries WHERE collection IN ('lifecycle', 'lifecycle-events')",
        url,
      );
      expect(entries).toHaveLength(2);
    }, PATIENCE);
    const statuses: number[] = [];
    await vi.waitFor(async () => {
      statuses.push((await ask(second, ALICE, "QUERY", "/lists")).status);
      expect(statuses.at(-1)).toBe(410);
    }, PATIENCE);
    expect(statuses).not.toContain(200);
    expect((await ask(second, BOB, "QUERY", "/lists")).status).toBe(200);
  }, 180_000);

  it("show in figures how fresh they are, and what sharing a store costs", async () => {
    const url = await postgres().makeDatabase();
    const metrics = { metrics: { enabled: true, port: 0 } };
    const node = await openNode(url, "a", metrics);
    await ask(node, ALICE, "QUERY", "/lists");
    await ask(node, ALICE, "REVOKE", "/", { agent_id: ALICE, reason: "test" });
    const ready = node.log.find(({ event }) => event === "listening");
    const page = await (await fetch(`http://127.0.0.1:${ready?.["metrics_port"]}/metrics`)).text();
    const figure = (name: string): number =>
      Number(new RegExp(`^agtp_node_${name} (\\S+)$`, "m").exec(page)?.[1]);
    expect(figure("lease_seconds")).toBeGreaterThan(0);
    expect(figure("lease_seconds")).toBeLessThanOrEqual(PATIENT_CLUSTER.view_lease_ms / 1_000);
    expect(figure("view_age_seconds")).toBeLessThan(60);
    expect(figure("heartbeat_age_seconds")).toBeLessThan(60);
    expect(figure("commits_total")).toBeGreaterThan(0);
    expect(figure("conflicts_total")).toBe(0);
    expect(figure("records_total")).toBe(3);
    expect(figure("records_signed_again_total")).toBe(0);
  });

  it("list each other by name", async () => {
    const url = await postgres().makeDatabase();
    const [first] = [await openNode(url, "a"), await openNode(url, "b")];
    expect(await nodesOf(first)).toMatchObject([
      { node: "a", state: "ready" },
      { node: "b", state: "ready" },
    ]);
  });

  it("watch no more of what others change, however often they are reloaded", async () => {
    const url = await postgres().makeDatabase();
    const watched = vi.spyOn(FeedWatchers.prototype, "watch");
    onTestFinished(() => watched.mockRestore());
    const { daemon } = await openNode(url, "a", { gateway: { enabled: true, port: 0 } });
    expect(watched.mock.calls.map(([name]) => name)).toContain("hosted-identities");
    expect(await daemon.reload()).toEqual([]);
    const atStart = watched.mock.calls.length;
    for (let count = 0; count < 3; count += 1) expect(await daemon.reload()).toEqual([]);
    expect(watched.mock.calls.length).toBe(atStart);
  });
});
