/** Nodes behind a pooler in transaction mode: each statement may be another connection's. */
import { expect, it, onTestFinished } from "vitest";
import { openDaemon, type TestDaemon } from "../support/daemon.ts";
import { encodeRequest, type TestReply } from "../support/dispatch.ts";
import { ALICE, BOB, hostedFiles } from "../support/hosted-agents.ts";
import { PATIENT_CLUSTER } from "../support/patience.ts";
import { PGBOUNCER, pooled } from "../support/pgbouncer.ts";
import { describeWithPostgres, postgres } from "../support/postgres.ts";
import { readJws, recordOf, walkChain } from "../support/records.ts";

const HANDLERS = "export const echo = ({ input }) => ({ body: input });";
const CALLS = 30;

function openNode(url: string, node: string): Promise<TestDaemon> {
  const cluster = { node, ...PATIENT_CLUSTER };
  const tables = { store: { driver: "postgres", url }, cluster };
  const identity = { lifecycle_auth: "open", inspect_acl: "public" };
  return openDaemon(hostedFiles(identity, tables, { "handlers.mjs": HANDLERS }));
}

async function ask(
  node: TestDaemon,
  agent: string,
  method: string,
  body: object = {},
): Promise<TestReply> {
  const client = await node.connect();
  onTestFinished(() => client.destroy());
  const path = method === "QUERY" ? "/lists" : "/";
  client.write(encodeRequest({ method, path, headers: { "Agent-ID": agent }, body }));
  const [reply] = await client.replies(1);
  if (reply === undefined) throw new Error("no reply");
  return reply;
}

if (PGBOUNCER === undefined) {
  console.warn(
    "\nNOT RUN, there is no PgBouncer (set PGBOUNCER to its program): nodes behind it\n",
  );
}

describeWithPostgres("two nodes behind a pooler in transaction mode", () => {
  it.skipIf(PGBOUNCER === undefined)(
    "keep one chain, and revoke an agent on both of them",
    async () => {
      const url = await postgres().makeDatabase();
      const behind = await pooled(url);
      const nodes = [await openNode(behind, "a"), await openNode(behind, "b")];
      const asked = nodes.flatMap((node) =>
        Array.from({ length: CALLS }, () => ask(node, ALICE, "QUERY")),
      );
      const replies = await Promise.all(asked);
      expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
      const rows = await postgres().query("SELECT jws FROM agtp.records ORDER BY number", url);
      const chain = walkChain(
        rows.map(({ jws }) => readJws(String(jws))),
        ALICE,
      );
      const ids = replies.map((reply) => recordOf(reply).auditId);
      expect(chain.map(({ auditId }) => auditId).toSorted()).toEqual(ids.toSorted());
      const [first, second] = nodes;
      if (first === undefined || second === undefined) throw new Error("there are two");
      const revoked = await ask(first, BOB, "REVOKE", { agent_id: BOB, reason: "test" });
      expect(revoked.status).toBe(200);
      expect((await ask(second, BOB, "QUERY")).status).toBe(410);
    },
  );
});
