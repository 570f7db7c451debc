import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { KeptDates } from "../../../src/modules/discovery/manifest-dates.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import { askOnce, createDaemon, openDaemon, serve, type TestDaemon } from "../../support/daemon.ts";
import { makeDeployment } from "../../support/deployment.ts";
import { makeDirectory } from "../../support/directory.ts";
import type { TestReply } from "../../support/dispatch.ts";
import { ALICE, BOB, hostedFiles } from "../../support/hosted-agents.ts";
import { PATIENCE, PATIENT_CLUSTER } from "../../support/patience.ts";
import { describeWithPostgres, postgres } from "../../support/postgres.ts";
import { askOn, connectToEach, openWorkers } from "../../support/workers.ts";

const OPEN = { lifecycle_auth: "open", inspect_acl: "public" };

async function ask(
  daemon: TestDaemon,
  method: string,
  {
    headers = {},
    body = {},
  }: { readonly headers?: Record<string, string>; readonly body?: object },
): Promise<TestReply> {
  return askOnce(daemon, { method, path: "/", headers, body });
}

async function datesOf(daemon: TestDaemon): Promise<{ issued: string; updated: string }> {
  const { body } = await ask(daemon, "DISCOVER", {});
  const { issued, updated } = body["server"] ?? {};
  return { issued: String(issued), updated: String(updated) };
}

async function change(daemon: TestDaemon, method: string): Promise<void> {
  const body = { agent_id: ALICE, reason: "test" };
  const { status } = await ask(daemon, method, { headers: { "Agent-ID": BOB }, body });
  expect(status).toBe(200);
}

// AGTP-API §8.3
describe("the dates of a manifest whose agent has come to another status", () => {
  it("are the same after a restart, and later than those before, also where it is back", async () => {
    const deployment = makeDeployment(hostedFiles(OPEN));
    const first = await createDaemon(deployment);
    const began = await datesOf(first);
    await change(first, "DEACTIVATE");
    const suspended = await datesOf(first);
    expect(suspended.updated > began.updated).toBe(true);
    await first.close();
    const second = await serve(deployment);
    expect(await datesOf(second)).toEqual(suspended);
    await change(second, "REINSTATE");
    const back = await datesOf(second);
    expect(back.updated > suspended.updated).toBe(true);
    expect(back.issued).toBe(began.issued);
  });
});

describeWithPostgres("the manifest of two nodes", () => {
  it("is one, with one date, from the start and after an agent has come to another status", async () => {
    const url = await postgres().makeDatabase();
    const open = (node: string): Promise<TestDaemon> => {
      const cluster = { node, ...PATIENT_CLUSTER };
      return openDaemon(hostedFiles(OPEN, { store: { driver: "postgres", url }, cluster }));
    };
    const nodes = [await open("a"), await open("b")] as const;
    const tell = () => Promise.all(nodes.map(datesOf));
    const [first, second] = await tell();
    expect(second).toEqual(first);
    await change(nodes[1], "DEACTIVATE");
    const [one, other] = await tell();
    expect(other).toEqual(one);
    expect(String(one?.updated) > String(first?.updated)).toBe(true);
  });
});

describe("the manifest of two workers", () => {
  it("is one to whoever asks, also after an agent has come to another status", async () => {
    const daemon = await openWorkers(2);
    const clients = await connectToEach(daemon, 4);
    const tell = async (): Promise<readonly unknown[]> => {
      const replies = await Promise.all(
        clients.map((client) => askOn(client, undefined, "DISCOVER", "/")),
      );
      return replies.map((reply) => reply?.headers.get("etag"));
    };
    const agree = async (): Promise<unknown> => {
      const [one, ...others] = await tell();
      expect(others).toEqual(others.map(() => one));
      return one;
    };
    // The dates are kept behind the ready line: for a moment a worker may have others.
    const before = await vi.waitFor(agree, PATIENCE);
    const body = { agent_id: ALICE, reason: "test" };
    const changed = clients[0] && (await askOn(clients[0], BOB, "DEACTIVATE", "/", body));
    expect(changed?.status).toBe(200);
    expect(await agree()).not.toBe(before);
  });
});

describe("KeptDates", () => {
  const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 0, minute));

  function makeFile(): string {
    const directory = makeDirectory();
    mkdirSync(join(directory, ".agtp"));
    return join(directory, ".agtp", "manifest.json");
  }

  it("are those that were stored first, of those who told some at the same time", async () => {
    const store = createMemoryStore();
    const [one, other] = [await KeptDates.open(store), await KeptDates.open(store)];
    const files = [makeFile(), makeFile()] as const;
    const told = one.of("a", files[0], at(1));
    const late = other.of("a", files[1], at(2));
    await one.keep("a", files[0], told);
    expect(other.revision).toBe(0);
    await other.keep("a", files[1], late);
    expect([one.revision, other.revision]).toEqual([0, 1]);
    expect(other.of("a", files[1], at(3))).toEqual(told);
    expect(JSON.parse(readFileSync(files[1], "utf8"))).toMatchObject(told);
  });

  it("are issued when the first was, whoever keeps that", async () => {
    const store = createMemoryStore();
    const file = makeFile();
    const before = { issued: at(0).toISOString(), updated: at(1).toISOString() };
    writeFileSync(file, JSON.stringify({ ...before, content_hash: "a" }));
    const dates = await KeptDates.open(store);
    expect(dates.of("a", file, at(5))).toEqual(before);
    await dates.keep("a", file, before);
    const next = dates.of("b", makeFile(), at(6));
    expect(next).toEqual({ issued: before.issued, updated: at(6).toISOString() });
  });
});
