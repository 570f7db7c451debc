/** The size of a database as `agtpd doctor` asks for it, and that retention gives its room back. */

import pg from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import type { RetentionLimits } from "../../../src/state/journal/retention.ts";
import { openPostgres } from "../../../src/state/postgres/open.ts";
import { type DatabaseSurvey, surveyDatabase } from "../../../src/state/postgres/survey.ts";
import { createRecordSigner } from "../../../src/state/records/sealer.ts";
import { makeChain } from "../../support/attribution-chain.ts";
import { makePatient } from "../../support/doctor.ts";
import { PATIENCE } from "../../support/patience.ts";
import { describeWithPostgres, postgres } from "../../support/postgres.ts";
import { openRecordNode } from "../../support/record-node.ts";

const ALICE = "a".repeat(64);
/** When the first record of a chain of the tests was made; each other is a second younger. */
const FIRST_AT = Date.UTC(2026, 0, 1);
const DAY = 86_400_000;
const COUNT = 200;

async function survey(
  url: string,
  limits: RetentionLimits = {},
  now = FIRST_AT,
): Promise<DatabaseSurvey> {
  const answer = await surveyDatabase({ url, schema: "agtp" }, limits, now);
  if (answer.survey === undefined) throw new Error(answer.fault.message);
  return answer.survey;
}

/** A database with the tables of a deployment. */
async function makeTables(): Promise<string> {
  const url = await postgres().makeDatabase();
  const { store, fault } = await openPostgres({ url, schema: "agtp" });
  if (store === undefined) throw new Error(fault.message);
  await store.close();
  return url;
}

/** The same with a chain, of whose numbers every other one is missing. */
async function makeGrown(): Promise<string> {
  const url = await makeTables();
  const values = makeChain({ agentId: ALICE, length: COUNT }).map(
    ({ auditId, jws }, index) => `('${auditId}', '${ALICE}', ${2 * index + 10}, false, '${jws}')`,
  );
  await postgres().query(
    `INSERT INTO agtp.records (audit_id, agent_id, number, is_event, jws)
      OVERRIDING SYSTEM VALUE VALUES ${values.join()}`,
    url,
  );
  return url;
}

async function sizeOf(url: string, relation: string): Promise<number> {
  const [row] = await postgres().query(`SELECT pg_total_relation_size('${relation}') AS size`, url);
  return Number(row?.["size"]);
}

/** As autovacuum does, until no row is left that a transaction still sees. */
async function vacuum(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  const told: (string | undefined)[] = [];
  client.on("notice", ({ message }) => told.push(message));
  try {
    await vi.waitFor(async () => {
      told.length = 0;
      await client.query("VACUUM (VERBOSE) agtp.records");
      expect(told.join()).toContain(" 0 are dead but not yet removable");
    }, PATIENCE);
  } finally {
    await client.end();
  }
}

describeWithPostgres("the size of a database", () => {
  it("is told table by table, with the part that limits would take", async () => {
    const url = await makeGrown();
    await postgres().query("ANALYZE agtp.records", url);
    const { tables, role, unreadable } = await survey(url);
    expect([role, unreadable]).toEqual(["agtp", []]);
    const records = tables.find(({ name }) => name === "records");
    expect(records).toMatchObject({
      ...{ rows: COUNT, bytes: await sizeOf(url, "agtp.records"), vacuumedAt: undefined },
    });
    expect(tables.map(({ name }) => name).toSorted()).toEqual([
      "changes",
      "entries",
      "heads",
      "meta",
      "nodes",
      "records",
    ]);
    const shareAfter = async (seconds: number): Promise<number | undefined> =>
      (await survey(url, { days: 1 }, FIRST_AT + DAY + seconds * 1_000)).dueShare;
    expect(await shareAfter(0)).toBe(0);
    expect(await shareAfter(COUNT / 4)).toBeCloseTo(0.25, 2);
    expect(await shareAfter(COUNT)).toBe(1);
    expect((await survey(url, { bytes: 10 ** 9 })).dueShare).toBe(0);
    expect((await survey(url, {})).dueShare).toBe(0);
  });

  it("is told with how long a transaction has been open behind which others have written", async () => {
    const url = await makeTables();
    const change = (at: string): Promise<unknown> =>
      postgres().query(
        `INSERT INTO agtp.changes SELECT pg_current_xact_id()::text::bigint, 'c', 'k', clock_timestamp() - interval '${at}'`,
        url,
      );
    await change("1 hour");
    expect((await survey(url)).heldUpMs).toBe(0);
    const elsewhere = new pg.Client(await postgres().makeDatabase());
    await elsewhere.connect();
    onTestFinished(() => elsewhere.end());
    await elsewhere.query("BEGIN");
    await elsewhere.query("SELECT pg_current_xact_id()");
    await change("5 minutes");
    await change("1 minute");
    const { heldUpMs } = await survey(url);
    expect(heldUpMs).toBeGreaterThanOrEqual(300_000);
    expect(heldUpMs).toBeLessThan(3_600_000);
    await elsewhere.query("ROLLBACK");
    expect((await survey(url)).heldUpMs).toBe(0);
  });

  it("is told of a database without tables, and of one without records", async () => {
    const empty = await survey(await postgres().makeDatabase());
    expect([empty.tables, empty.nodes, empty.dueShare]).toEqual([[], [], undefined]);
    expect((await survey(await makeTables(), { days: 1, bytes: 1 })).dueShare).toBe(0);
  });

  it("is told with why no daemon would start over it, and nothing is made to find that out", async () => {
    const url = await postgres().makeDatabase();
    await postgres().query("CREATE ROLE beginner LOGIN", url);
    const beginner = url.replace("agtp@", "beginner@");
    const faultOf = async (asked: string) => (await survey(asked)).startFault;
    expect(await faultOf(url)).toBeUndefined();
    const unmade = await faultOf(beginner);
    expect(unmade?.message).toBe('the role may not make the schema "agtp"');
    expect((await survey(url)).tables).toEqual([]);
    await postgres().query(String(unmade?.hint).replace("let a role that may run this:", ""), url);
    expect(await faultOf(beginner)).toBeUndefined();
    await postgres().query("REVOKE DELETE ON agtp.heads FROM beginner", url);
    expect((await faultOf(beginner))?.message).toMatch(/^the role beginner may not read and write/);
    await postgres().query("UPDATE agtp.meta SET value = '2' WHERE name = 'schema_version'", url);
    expect((await faultOf(url))?.message).toContain("has schema version 2, this build knows 1");
    const [database] = await postgres().query("SELECT current_database() AS name", url);
    await postgres().query(
      `ALTER DATABASE ${String(database?.["name"])} SET default_transaction_read_only = on`,
    );
    expect(await faultOf(url)).toMatchObject({
      ...{ key: "url", message: "the server is read-only, as a standby is" },
    });
  });

  it("is told to a role that may read nothing, but for what stands in the tables", async () => {
    const url = await makeGrown();
    await postgres().query("CREATE ROLE stranger LOGIN", url);
    const strange = url.replace("agtp@", "stranger@");
    const { role, unreadable, dueShare, tables } = await survey(strange, { days: 1 });
    expect([role, unreadable.length, dueShare]).toEqual(["stranger", tables.length, undefined]);
    expect(tables.find(({ name }) => name === "records")?.bytes).toBe(
      await sizeOf(url, "agtp.records"),
    );
    const patient = makePatient({ tables: { store: { driver: "postgres", url: strange } } });
    const { findings, unasked } = await patient.examine();
    expect(unasked).toEqual([]);
    expect(findings).toContainEqual(
      expect.objectContaining({
        ...{ id: "database-size", severity: "warning" },
        message: expect.stringContaining("role stranger may not read records"),
        remedy: expect.stringContaining("GRANT SELECT ON ALL TABLES IN SCHEMA agtp TO stranger"),
      }),
    );
  });

  it("changes nothing, and is not waited for where a table is being rewritten", async () => {
    const url = await makeGrown();
    const client = new pg.Client(url);
    await client.connect();
    onTestFinished(() => client.end());
    await client.query("BEGIN; LOCK TABLE agtp.records IN ACCESS EXCLUSIVE MODE");
    const patient = makePatient({ tables: { store: { driver: "postgres", url } } });
    const { unasked, exitCode } = await patient.examine();
    expect(unasked).toEqual([
      { id: "database-size", reason: expect.stringContaining("statement timeout") },
    ]);
    expect(exitCode).not.toBe(0);
    await client.query("ROLLBACK");
  });

  it("cannot be told of a server that is not there, which the doctor says, unless it is offline", async () => {
    const url = "postgres://agtpd:hunter2@127.0.0.1:1/agtpd";
    const tables = { store: { driver: "postgres", url } };
    const { unasked, err, json } = await makePatient({ tables }).examine();
    expect(unasked).toEqual([
      {
        id: "database-size",
        reason: expect.stringMatching(/^store\.url: the server cannot be reached: .*ECONNREFUSED/),
      },
    ]);
    expect(err + JSON.stringify(json["unasked"])).not.toContain("hunter2");
    const offline = await makePatient({ tables, args: ["--offline"] }).examine();
    expect(offline.unasked).toEqual([]);
  });

  // docs/attribution.md "With PostgreSQL"
  it("grows no further under retention, where room is vacuumed beside nodes that serve", async () => {
    const url = await postgres().makeDatabase();
    const signer = createRecordSigner();
    const node = await openRecordNode({ url, node: "a", signer });
    await openRecordNode({ url, node: "b", signer });
    const limits = { bytes: 12_000 };
    const sizes: number[] = [];
    for (let round = 0; round < 6; round += 1) {
      await node.grow(ALICE, 120);
      node.state.retention?.apply({ limits, signer, serverId: "agents.example" });
      await node.state.retention?.run();
      await vacuum(url);
      sizes.push(await sizeOf(url, "agtp.records"));
    }
    const [, second = 0] = sizes;
    expect(Math.max(...sizes)).toBeLessThanOrEqual(second * 1.25);
    // Six times as much went through it.
    const [kept] = await postgres().query("SELECT count(*)::int AS kept FROM agtp.records", url);
    expect(Number(kept?.["kept"])).toBeLessThan(120);
    // Given back to the system.
    await postgres().query("VACUUM FULL agtp.records", url);
    expect(await sizeOf(url, "agtp.records")).toBeLessThan(second);
  });
});
