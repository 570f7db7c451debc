/** Retention of a daemon that serves: records of last year go, and whoever asks for one is told. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { verifyJournalChain } from "../../src/state/journal/journal-chain.ts";
import { makeChain } from "../support/attribution-chain.ts";
import { openDaemon } from "../support/daemon.ts";
import { encodeRequest, type TestReply } from "../support/dispatch.ts";
import { ALICE, hostedFiles } from "../support/hosted-agents.ts";
import { PATIENCE } from "../support/patience.ts";
import { recordOf } from "../support/records.ts";

const HANDLERS = "export const echo = ({ input }) => ({ body: input });";

// AGTP "INSPECT", AGTP-IDENTIFIERS "Audit Log"
describe("a daemon with [attribution.retention]", () => {
  it.each([1, 2])("archives old segments, and answers 410, with %i workers", async (workers) => {
    const records = makeChain({ agentId: ALICE, length: 30 });
    const segment = (from: number): string =>
      records
        .slice(from, from + 10)
        .map(({ jws }) => `${jws}\n`)
        .join("");
    const { directory, log, connect, daemon } = await openDaemon(
      hostedFiles(
        { inspect_acl: "public" },
        {
          server: { workers },
          store: { driver: "sqlite" },
          attribution: { retention: { days: 1, archive: "archive" } },
        },
        {
          "handlers.mjs": HANDLERS,
          ".agtp/journal/00000001.jws": segment(0),
          ".agtp/journal/00000002.jws": segment(10),
          ".agtp/journal/00000003.jws": segment(20),
        },
      ),
    );
    const archive = join(directory, "archive");
    await vi.waitFor(
      () => expect(log.map(({ event }) => event)).toContain("journal-cut"),
      PATIENCE,
    );
    expect(existsSync(join(archive, "00000002.jws"))).toBe(true);
    const client = await connect();
    let asked = 0;
    const send = async (request: object): Promise<TestReply> => {
      client.write(encodeRequest({ method: "INSPECT", path: "/", ...request }));
      asked += 1;
      const reply = (await client.replies(asked)).at(-1);
      if (reply === undefined) throw new Error(`no reply to question ${asked}`);
      return reply;
    };
    const ask = (body: object): Promise<TestReply> => send({ body });
    const gone = await ask({ target: "audit", audit_id: records[19]?.auditId });
    expect([gone.status, gone.body["error"]?.["code"]]).toEqual([410, "record-archived"]);
    const headers = { "Agent-ID": ALICE };
    const { auditId } = recordOf(await send({ method: "QUERY", path: "/lists", headers }));
    const left = await ask({ target: "audit", audit_id: auditId });
    expect(left.status).toBe(200);
    const never = await ask({ target: "audit", audit_id: "c".repeat(64) });
    expect([never.status, never.body["error"]?.["code"]]).toEqual([404, "record-not-found"]);
    const question = { directory: join(directory, ".agtp/journal"), agentId: ALICE, keys: [] };
    const report = await verifyJournalChain(question);
    expect(report).toMatchObject({ broken: undefined, cut: { isArchived: true } });
    await daemon.drain();
    const whole = await verifyJournalChain({ ...question, archive });
    expect(whole).toMatchObject({ records: 31, broken: undefined });
  });
});
