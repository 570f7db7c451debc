/** A daemon whose PostgreSQL has no room on its disk: it says so, loses nothing, and goes on. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { askOnce, openDaemon, type TestDaemon } from "../support/daemon.ts";
import type { TestReply } from "../support/dispatch.ts";
import { ALICE, hostedFiles } from "../support/hosted-agents.ts";
import { PATIENCE } from "../support/patience.ts";
import { describeWherePostgresIs, launchPostgres, type TestPostgres } from "../support/postgres.ts";
import { readJws, recordOf, walkChain } from "../support/records.ts";
import { mountSmallDisk, type SmallDisk } from "../support/small-disk.ts";

/** Room for a new cluster of databases, and some. */
const MEBIBYTES = 72;

const probe = mountSmallDisk(1);
probe?.remove();
if (probe === undefined) {
  console.warn("\nNOT RUN, no file system can be mounted here: a full disk under PostgreSQL\n");
}

describeWherePostgresIs("a daemon whose database has a full disk", (programs) => {
  let disk: SmallDisk | undefined;
  let server: TestPostgres;
  let stop = (): void => undefined;
  beforeAll(() => {
    disk = probe && mountSmallDisk(MEBIBYTES);
    if (disk !== undefined) ({ server, stop } = launchPostgres(programs, disk.directory));
  });
  afterAll(() => {
    try {
      stop();
    } finally {
      disk?.remove();
    }
  });

  it.skipIf(probe === undefined)(
    "answers 503 and loses no record, also where the server ends of it, and goes on with room",
    async () => {
      const url = await server.makeDatabase();
      const tables = { store: { driver: "postgres", url }, cluster: { node: "a" } };
      const handlers = "export const echo = ({ input }) => ({ body: input });";
      const daemon = await openDaemon(hostedFiles({}, tables, { "handlers.mjs": handlers }));
      const seen: string[] = [];
      const ask = async (): Promise<TestReply> => {
        const reply = await send(daemon);
        if (reply.status === 200) seen.push(recordOf(reply).auditId);
        else {
          expect([reply.status, reply.headers.get("retry-after")]).toEqual([503, "1"]);
          expect(reply.headers.has("attribution-record")).toBe(false);
          const codes = ["store-unavailable", "outcome-unknown"];
          expect(codes).toContain(reply.body["error"]?.["code"]);
        }
        return reply;
      };
      const until = (isMeant: (reply: TestReply) => boolean): Promise<void> =>
        vi.waitFor(async () => expect(isMeant(await ask())).toBe(true), PATIENCE);
      const serves = ({ status }: TestReply): boolean => status === 200;
      const refuses = ({ body }: TestReply): boolean =>
        String(body["error"]?.["code"]) === "store-unavailable";
      const kinds = (): readonly unknown[] =>
        daemon.log.flatMap((line) => (line["event"] === "store-unavailable" ? line["kind"] : []));
      await until(serves);

      // A table that cannot grow.
      disk?.fill();
      for (let reply = await ask(); serves(reply); reply = await ask());
      await until(refuses);
      await vi.waitFor(() => expect(kinds()).toEqual(["full"]), PATIENCE);
      disk?.clear();
      await until(serves);

      // A log that cannot: the server ends of it, and does not start again by itself.
      disk?.fill();
      const writeAnyway = (sql: string): Promise<unknown> =>
        server.query(sql).catch(() => undefined);
      await writeAnyway("SELECT pg_switch_wal()");
      await until(refuses);
      await writeAnyway("COMMENT ON DATABASE postgres IS 'x'");
      const isUp = (): boolean => existsSync(join(server.directory, "data/postmaster.pid"));
      await vi.waitFor(() => expect(isUp()).toBe(false), PATIENCE);
      await until(refuses);
      disk?.clear();
      server.start();
      await until(serves);

      const rows = await server.query("SELECT jws FROM agtp.records ORDER BY number", url);
      const records = rows.map(({ jws }) => readJws(String(jws)));
      const chain = walkChain(records, ALICE).map(({ auditId }) => auditId);
      expect(chain).toEqual(expect.arrayContaining(seen));
      expect(new Set(chain).size).toBe(chain.length);
      expect(daemon.log.filter(({ event }) => event === "fault")).toEqual([]);
    },
  );
});

async function send(daemon: TestDaemon): Promise<TestReply> {
  const headers = { "Agent-ID": ALICE };
  return askOnce(daemon, { method: "QUERY", path: "/lists", headers });
}
