/** A database that cannot be used is a problem at its key, which says what to do. */
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { formatProblem } from "../../../src/base/problem.ts";
import { openStore } from "../../../src/state/open-store.ts";
import { findLocationFault } from "../../../src/state/postgres/driver.ts";
import { startOldPostgres } from "../../support/old-postgres.ts";
import { describeWithPostgres, openPostgres, postgres } from "../../support/postgres.ts";

/** The problems of a start, as they are printed. */
async function refusalOf(url: string, more: object = {}): Promise<string> {
  const location = { driver: "postgres", path: "", url, ...more } as const;
  const { store, problems } = await openStore(location, "agtp-server.toml");
  await store?.close();
  return (problems ?? []).map(formatProblem).join("\n");
}

describe("opening a store in a PostgreSQL that is too old", () => {
  it.each(["140011", "90624"])("is refused, for %s", async (version) => {
    const refused = await refusalOf(await startOldPostgres(version));
    const number = Math.floor(Number(version) / 10_000);
    expect(refused).toBe(
      `agtp-server.toml: store.url: PostgreSQL ${number} is too old: 15 or newer is needed`,
    );
  });
});

describe("the location of a PostgreSQL that no URL reader takes", () => {
  it.each([
    ["a port that there is not", "postgres://agtp:hush@db.example:99999/agtp"],
    ["an address that is not closed", "postgres://agtp:hush@[::1/agtp"],
    ["a password with a slash", "postgres://agtp:hu/sh@db.example/agtp"],
  ])("is a problem before anything is connected: %s", (_what, url) => {
    const fault = findLocationFault({ url, schema: "agtp" });
    expect(fault?.key).toBe("url");
    expect(fault?.message).toMatch(/^cannot be read: .*%2F stands for \/, /);
    expect(fault?.message).not.toMatch(/hush|db\.example/);
  });
});

describe("the location of a PostgreSQL that is several", () => {
  it("is a problem that says so, and a comma in a password is none", () => {
    const faultOf = (url: string) => findLocationFault({ url, schema: "agtp" })?.message;
    const several = "postgres://agtp:hu,sh@a.example:5432,b.example/agtp?target_session_attrs=any";
    expect(faultOf(several)).toMatch(/^names several hosts: /);
    expect(faultOf("postgres://a.example,b.example/agtp")).toMatch(/^names several hosts: /);
    expect(faultOf("postgres://agtp:hu,sh@a.example/ag,tp")).toBeUndefined();
  });
});

describe("the schema of a PostgreSQL", () => {
  it("is a problem where its name is of those that the server keeps for itself", () => {
    const faultOf = (schema: string) =>
      findLocationFault({ url: "postgres://agtp@db.example/agtp", schema });
    expect(faultOf("pg_agtp")).toEqual({
      key: "schema",
      message: 'starts with "pg_", as the server\'s own schemas alone do',
    });
    expect(faultOf("pgagtp")).toBeUndefined();
  });
});

describeWithPostgres("opening a store in PostgreSQL", () => {
  it("makes the schema once, and finds it again", async () => {
    const url = await postgres().makeDatabase();
    const store = await openPostgres(url);
    await store.commit([{ kind: "put", collection: "c", key: "k", value: 1 }]);
    expect(await (await openPostgres(url)).get("c", "k")).toBe(1);
    const [version] = await postgres().query(
      "SELECT value FROM agtp.meta WHERE name = 'schema_version'",
      url,
    );
    expect(version).toEqual({ value: "1" });
  });

  it("refuses a schema of a newer build, and tables of another program", async () => {
    const url = await postgres().makeDatabase();
    await openPostgres(url);
    await postgres().query("UPDATE agtp.meta SET value = '99' WHERE name = 'schema_version'", url);
    expect(await refusalOf(url)).toMatch(/store\.schema: "agtp" has schema version 99, this build/);
    await postgres().query("UPDATE agtp.meta SET value = 'x' WHERE name = 'schema_version'", url);
    expect(await refusalOf(url)).toContain('"agtp" has tables of another program');
  });

  it("refuses a schema that lacks a table, as half of a dump that was put back leaves it", async () => {
    const url = await postgres().makeDatabase();
    await openPostgres(url);
    await postgres().query("DROP TABLE agtp.changes, agtp.nodes", url);
    const refused = await refusalOf(url);
    expect(refused).toMatch(/store\.schema: "agtp" has tables of another .*: (changes|nodes), /);
    expect(refused).toContain(" are not there (put back a whole copy, ");
    await postgres().query("DROP TABLE agtp.meta", url);
    expect(await refusalOf(url)).toMatch(/store\.schema: .*\bmeta\b.* are not there/);
  });

  it("says that a password is asked for, where none is given", async () => {
    const url = await postgres().makeDatabase();
    await postgres().query("CREATE ROLE locked LOGIN PASSWORD 'x'");
    const rules = join(postgres().directory, "rules");
    writeFileSync(rules, "local all locked scram-sha-256\nlocal all all trust\n");
    chmodSync(rules, 0o644);
    await postgres().query(`ALTER SYSTEM SET hba_file = '${rules}'`);
    onTestFinished(async () => {
      await postgres().query("ALTER SYSTEM RESET hba_file");
      postgres().crash();
      postgres().start();
    });
    postgres().crash();
    postgres().start();
    expect(await refusalOf(url.replace("//agtp@", "//locked@"))).toMatch(
      /store\.url: the server asks for a password, and there is none \(.*PGPASSWORD/,
    );
  });

  it("shows the statement where the role may not make the schema", async () => {
    const url = await postgres().makeDatabase();
    await postgres().query("CREATE ROLE guest LOGIN");
    const guest = url.replace("//agtp@", "//guest@");
    const refused = await refusalOf(guest);
    expect(refused).toContain('store.schema: the role may not make the schema "agtp"');
    expect(refused).toContain("CREATE TABLE");
    expect(refused).toContain('GRANT USAGE ON SCHEMA "agtp" TO guest;');
    await openPostgres(url);
    expect(await refusalOf(guest)).toContain("store.schema: the role guest may not read and write");
  });

  it("makes the tables in a schema that was made for a role which may make none", async () => {
    const url = await postgres().makeDatabase();
    await postgres().query("CREATE ROLE tenant LOGIN", url);
    await postgres().query("CREATE SCHEMA agtp AUTHORIZATION tenant", url);
    const store = await openPostgres(url.replace("agtp@", "tenant@"));
    await store.commit([{ kind: "put", collection: "c", key: "k", value: 1 }]);
    expect(await store.get("c", "k")).toBe(1);
  });

  it("says what to grant where the role may not work with all tables", async () => {
    const url = await postgres().makeDatabase();
    await openPostgres(url);
    await postgres().query("CREATE ROLE worker LOGIN", url);
    const own = url.replace("agtp@", "worker@");
    const grants =
      'GRANT USAGE ON SCHEMA "agtp" TO worker; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "agtp" TO worker';
    for (const granted of [
      "",
      "GRANT USAGE ON SCHEMA agtp TO worker; GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA agtp TO worker",
    ]) {
      await postgres().query(granted, url);
      const refused = await refusalOf(own);
      expect(refused).toContain("store.schema: the role worker may not read and write all tables");
      expect(refused).toContain(grants);
    }
    await postgres().query(grants, url);
    const store = await openPostgres(own);
    await store.commit([{ kind: "put", collection: "c", key: "k", value: 1 }]);
    expect(await store.get("c", "k")).toBe(1);
  });

  it("refuses a server that takes no changes", async () => {
    const url = await postgres().makeDatabase();
    const [database] = await postgres().query("SELECT current_database() AS name", url);
    const name = String(database?.["name"]);
    await postgres().query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    expect(await refusalOf(url)).toContain("store.url: the server is read-only, as a standby is");
  });

  it("says what is wrong with a URL, and quotes none of it", async () => {
    const there = await postgres().makeDatabase();
    const nobody = `postgres://agtp:hush@/x?host=${encodeURIComponent("/nowhere")}`;
    for (const url of ["mysql://agtp:hush@db/x", `${there}&sslmode=maybe`, nobody]) {
      const refused = await refusalOf(url);
      expect(refused).toContain("store.url: ");
      expect(refused).not.toContain("hush");
    }
    expect(await refusalOf(there.replace(/test\d+/, "none"))).toContain(
      'store.url: the server has no such database: database "none" does not exist',
    );
    expect(await refusalOf(there.replace("agtp@", "nobody-here@"))).toContain("refuses this role");
    expect(await refusalOf(there.replace("agtp@", "agtp:hu%sh@"))).toContain("has a % that two");
    expect(await refusalOf(there, { ca: "/nowhere/ca.pem" })).toContain(
      'store.ca: "/nowhere/ca.pem" does not exist',
    );
    // A pipe or a device would be waited for.
    expect(await refusalOf(there, { ca: "/dev/null" })).toContain("must be a regular file");
  });
});
