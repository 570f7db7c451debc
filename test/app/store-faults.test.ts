/** A store that fails under a daemon in a process of its own: a full disk, and damaged pages. */

import { execFileSync, spawnSync } from "node:child_process";
import { closeSync, openSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type RunningProgram, startProgram } from "../support/agtpd.ts";
import { askOnce } from "../support/daemon.ts";
import { makeDeployment } from "../support/deployment.ts";
import type { TestReply } from "../support/dispatch.ts";
import { ALICE, BOB, hostedFiles } from "../support/hosted-agents.ts";
import { readJournal, recordOf, walkChain } from "../support/records.ts";

const CAN_LIFT_LIMITS = spawnSync("prlimit", ["--version"]).status === 0;
const FILES = hostedFiles({ lifecycle_auth: "open", inspect_acl: "public" });

interface Asked {
  readonly agent?: string;
  readonly path?: string;
  readonly body?: object;
  readonly key?: string;
}

async function ask(
  daemon: RunningProgram,
  method: string,
  { agent = ALICE, path = "/", body = {}, key }: Asked = {},
): Promise<TestReply> {
  const headers = { "Agent-ID": agent, ...(key === undefined ? {} : { "Idempotency-Key": key }) };
  return askOnce(daemon, { method, path, headers, body });
}

function tell(daemon: RunningProgram, number: number): Promise<TestReply> {
  const content = { number, text: "x".repeat(20_000) };
  return ask(daemon, "NOTIFY", { body: { recipient: "bob", content } });
}

function codeOf({ body }: TestReply): unknown {
  return body["error"]?.["code"];
}

async function stop(daemon: RunningProgram): Promise<number | null> {
  daemon.child.kill("SIGTERM");
  return (await daemon.outcome).code;
}

function chainOf(directory: string, agent: string): readonly string[] {
  const records = readJournal(join(directory, ".agtp/journal"));
  return walkChain(records, agent).map(({ auditId }) => auditId);
}

async function inboxOf(daemon: RunningProgram): Promise<unknown[]> {
  const reply = await ask(daemon, "QUERY", { agent: BOB, path: "/inbox", body: { limit: 100 } });
  const { entries } = reply.body["result"] as unknown as {
    readonly entries: readonly { readonly content: { readonly number: number } }[];
  };
  const numbers = entries.map(({ content }) => content.number);
  return numbers.toSorted((left, right) => left - right);
}

// `[store]`; 503 store-unavailable
describe("a store that the disk has no room for", () => {
  it.skipIf(!CAN_LIFT_LIMITS)(
    "refuses what needs it, serves the rest, keeps all that was acknowledged, and goes on by itself",
    async () => {
      const { configPath, directory } = makeDeployment(FILES);
      let daemon = await startProgram(configPath, { before: "ulimit -S -f 400" });
      const told: number[] = [];
      const acknowledged: TestReply[] = [];
      let last = await tell(daemon, 0);
      for (let number = 1; last.status === 200; number += 1) {
        told.push(number - 1);
        acknowledged.push(last);
        last = await tell(daemon, number);
      }
      expect([last.status, codeOf(last), last.headers.get("retry-after")]).toEqual([
        503,
        "store-unavailable",
        "1",
      ]);
      expect(last.headers.has("attribution-record")).toBe(false);
      const book = (key: string): Promise<TestReply> =>
        ask(daemon, "BOOK", { path: "/rooms", key });
      let keys = 0;
      let keyed = await book("key-0");
      for (; keyed.status === 200; keyed = await book(`key-${keys}`)) keys += 1;
      expect([keyed.status, codeOf(keyed)]).toEqual([503, "store-unavailable"]);
      const served = await ask(daemon, "QUERY", { path: "/lists" });
      expect(served.status).toBe(200);
      // What is in the journal holds: taking rights away does not wait for room.
      const revoked = await ask(daemon, "DEACTIVATE", { body: { agent_id: BOB, reason: "x" } });
      expect(revoked.status).toBe(200);
      expect((await ask(daemon, "QUERY", { agent: BOB, path: "/lists" })).status).toBe(503);
      const report = await daemon.line("store-unavailable");
      expect(report).toMatchObject({ level: "error" });

      execFileSync("prlimit", ["--pid", String(daemon.child.pid), "--fsize=unlimited"]);
      const again = await tell(daemon, 1_000);
      expect(again.status).toBe(200);
      told.push(1_000);
      const rest = await book(`key-${keys}`);
      expect(rest.status).toBe(200);
      await daemon.line("store-available");
      expect(daemon.log.filter(({ event }) => event === "fault")).toEqual([]);
      daemon.child.kill("SIGKILL");
      await daemon.outcome;

      daemon = await startProgram(configPath);
      expect((await ask(daemon, "QUERY", { agent: BOB, path: "/lists" })).status).toBe(503);
      await ask(daemon, "REINSTATE", { body: { agent_id: BOB, reason: "y" } });
      expect(await inboxOf(daemon)).toEqual(told);
      expect(await stop(daemon)).toBe(0);
      const chain = chainOf(directory, ALICE);
      for (const reply of [...acknowledged, served, revoked, again, rest]) {
        expect(chain).toContain(recordOf(reply).auditId);
      }
    },
  );
});

describe("a store whose pages turn out damaged", () => {
  it("refuses what stands on them, says so once, and stays up", async () => {
    const { configPath, directory } = makeDeployment(FILES);
    let daemon = await startProgram(configPath);
    for (let number = 0; number < 200; number += 1) await tell(daemon, number);
    expect(await stop(daemon)).toBe(0);
    daemon = await startProgram(configPath);
    // Behind the first pages: the tables are known, what is in them is not.
    const path = join(directory, ".agtp/state.db");
    const damaged = Buffer.alloc(statSync(path).size - 10 * 4096, 0xa5);
    const file = openSync(path, "r+");
    writeSync(file, damaged, 0, damaged.length, 10 * 4096);
    closeSync(file);
    const inbox = (): Promise<TestReply> =>
      ask(daemon, "QUERY", { agent: BOB, path: "/inbox", body: { limit: 100 } });
    const replies = [await inbox(), await inbox()];
    for (const reply of replies) {
      expect([reply.status, codeOf(reply)]).toEqual([503, "store-unavailable"]);
      expect(reply.headers.has("attribution-record")).toBe(false);
    }
    expect((await ask(daemon, "QUERY", { path: "/lists" })).status).toBe(200);
    expect(await daemon.line("store-unavailable")).toMatchObject({ kind: "damaged" });
    daemon.child.kill("SIGTERM");
    await daemon.outcome;
    const reports = daemon.log.filter(({ event }) => /^(fault|store-.*)$/.test(String(event)));
    expect(reports.map(({ event }) => event)).toEqual(["store-unavailable"]);
    const again = startProgram(configPath);
    await expect(again).rejects.toThrow(/store.path: ".*state.db" is damaged/);
  });
});
