/** Sessions that end while a contract is made in them: nothing is left that could be called. */
import { setImmediate as nextRound } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import type { Store } from "../../../src/state/store.ts";
import { StoreUnavailableError } from "../../../src/state/store-fault.ts";
import { makeDirectory } from "../../support/directory.ts";
import { openServer, type TestReply, type TestServer } from "../../support/dispatch.ts";
import {
  AUDIT,
  ask,
  JUDGE,
  NORA,
  negotiationFiles,
  OPT_IN,
  OTTO,
  propose,
} from "../../support/negotiation.ts";
import { PATIENCE } from "../../support/patience.ts";
import { makeLastingStore, openTestState } from "../../support/state.ts";
import { alterStore } from "../../support/store.ts";
import { refusalOf } from "../../support/waiting.ts";

const SESSION = { "Session-ID": "s-1" };
const END = { method: "REVOKE", body: { target: "session", session_id: "s-1" } };
const ENDED = [409, "session-ended"];

/** A server that ends the session in the moment in which the first contract is stored. */
async function openEnding(tables: Readonly<Record<string, object>> = {}): Promise<TestServer> {
  const store = createMemoryStore();
  let end: (() => Promise<TestReply>) | undefined;
  const commit: Store["commit"] = async (changes, ...more) => {
    const isContract = changes.some(({ collection }) => collection === "contracts");
    const ending = isContract ? end : undefined;
    if (ending !== undefined) {
      end = undefined;
      expect((await ending()).body["result"]).toMatchObject({ status: "ended" });
    }
    return store.commit(changes, ...more);
  };
  const state = await openTestState(makeDirectory(), alterStore(store, { commit }));
  const server = await openServer(negotiationFiles(tables), { state });
  end = () => ask(server, NORA, END);
  return server;
}

function openContracts({ state }: TestServer): readonly unknown[] {
  return [...state.contracts.eachOpen()];
}

// AGTP-API §10.8
describe("a session that ends while a contract is made in it", () => {
  it("leaves none of a proposal that is answered at once", async () => {
    const server = await openEnding();
    expect(refusalOf(await ask(server, NORA, propose(JUDGE), SESSION))).toEqual(ENDED);
    expect(openContracts(server)).toEqual([]);
  });

  it("leaves one that is persistent", async () => {
    const server = await openEnding();
    const { status } = await ask(server, NORA, propose(JUDGE, { persistent: true }), SESSION);
    expect([status, openContracts(server).length]).toEqual([263, 1]);
  });

  it("leaves none of a proposal that was taken on", async () => {
    const server = await openEnding({ synthesis: { async_evaluation: true } });
    const { body } = await ask(server, NORA, propose(JUDGE), SESSION);
    const path = String(body["polling_path"]);
    await vi.waitFor(async () => {
      expect(refusalOf(await ask(server, NORA, { method: "QUERY", path }))).toEqual(ENDED);
    }, PATIENCE);
    expect(openContracts(server)).toEqual([]);
  });

  it.each(["confirm-first", "optimistic"])("leaves none of a pair, %s", async (mode) => {
    const rcns = { enabled: true, min_trust_tier: 2, mode };
    const server = await openEnding({ policies: { rcns } });
    const reply = await ask(server, NORA, AUDIT, { ...OPT_IN, ...SESSION });
    expect(refusalOf(reply)).toEqual(ENDED);
    expect(openContracts(server)).toEqual([]);
  });
});

// AGTP-API §10.8
describe("the end of a session", () => {
  // AGTP "PROPOSE": `session_id` is one of its parameters.
  it.each([
    ["beside the proposal", { proposal: JUDGE, session_id: "s-1" }],
    ["beside the endpoint", { endpoint: JUDGE, session_id: "s-1", task_id: "t-1" }],
    ["in the envelope", { parameters: { proposal: JUDGE, session_id: "s-1" } }],
    ["around it", { session_id: "s-1", parameters: { proposal: JUDGE, session_id: "s-2" } }],
  ])("ends the contract of a proposal that names it %s", async (_, body) => {
    const server = await openServer(negotiationFiles());
    expect((await ask(server, NORA, { method: "PROPOSE", body })).status).toBe(263);
    expect(openContracts(server)).toMatchObject([{ sessionId: "s-1" }]);
    expect((await ask(server, NORA, END)).status).toBe(200);
    expect(openContracts(server)).toEqual([]);
  });

  it("is not touched by a proposal that names a session of another agent", async () => {
    const server = await openServer(negotiationFiles());
    expect((await ask(server, OTTO, propose(JUDGE), SESSION)).status).toBe(263);
    const body = { proposal: JUDGE, session_id: "s-1" };
    const refusal = refusalOf(await ask(server, NORA, { method: "PROPOSE", body }));
    expect(refusal).toEqual([401, "session-mismatch"]);
  });

  it("ends what an earlier attempt has left, and each has its event", async () => {
    const store = createMemoryStore();
    let broken: string | undefined;
    const commit: Store["commit"] = (changes, ...more) => {
      const isBroken = broken !== undefined && changes.some(({ key }) => key === broken);
      const full = new StoreUnavailableError("full", new Error("the disk is full"));
      return isBroken ? Promise.reject(full) : store.commit(changes, ...more);
    };
    const state = await openTestState(makeDirectory(), alterStore(store, { commit }));
    const server = await openServer(negotiationFiles(), { state });
    const ids: string[] = [];
    for (const path of ["/verdicts", "/rulings", "/findings"]) {
      const { body } = await ask(server, NORA, propose({ ...JUDGE, path }), SESSION);
      ids.push(String(body["synthesis_id"]));
    }
    broken = ids[1];
    expect((await ask(server, NORA, END)).status).toBe(503);
    broken = undefined;
    await vi.waitFor(async () => {
      expect(await releasedIn(server)).toEqual([ids[0], ids[2]].toSorted());
    }, PATIENCE);
    expect((await ask(server, NORA, END)).status).toBe(200);
    expect(openContracts(server)).toEqual([]);
    expect(await releasedIn(server)).toEqual(ids.toSorted());
  });

  it("asked for by two at once is answered to the second once nothing is left of it, though the first fails", async () => {
    const store = createMemoryStore();
    let broken: string | undefined;
    let fail = (): void => undefined;
    const commit: Store["commit"] = (changes, ...more) => {
      if (!changes.some(({ key }) => key === broken)) return store.commit(changes, ...more);
      broken = undefined;
      const full = new StoreUnavailableError("full", new Error("the disk is full"));
      return new Promise((_, reject) => {
        fail = () => reject(full);
      });
    };
    const state = await openTestState(makeDirectory(), alterStore(store, { commit }));
    const server = await openServer(negotiationFiles(), { state });
    const { body } = await ask(server, NORA, propose(JUDGE), SESSION);
    broken = String(body["synthesis_id"]);
    const first = ask(server, NORA, END);
    await vi.waitFor(() => expect(broken).toBeUndefined(), PATIENCE);
    const second = ask(server, NORA, END);
    await nextRound();
    fail();
    expect([(await first).status, (await second).status]).toEqual([503, 200]);
    expect(openContracts(server)).toEqual([]);
  });

  it("ends at the next start what a kill has left", async () => {
    const store = makeLastingStore();
    const directory = makeDirectory();
    const before = await openTestState(directory, store);
    const server = await openServer(negotiationFiles(), { state: before });
    const { body } = await ask(server, NORA, propose(JUDGE), SESSION);
    // It is killed as soon as the session is over.
    await before.suspensions.end({ sessionId: "s-1", agentId: NORA });
    await before.ledger.settled();
    const state = await openTestState(directory, store);
    const next = await openServer(negotiationFiles(), { state });
    await vi.waitFor(async () => {
      expect(openContracts(next)).toEqual([]);
      expect(await releasedIn(next)).toEqual([body["synthesis_id"]]);
    }, PATIENCE);
  });
});

async function releasedIn(server: TestServer): Promise<readonly string[]> {
  const inspect = { method: "INSPECT", body: { target: "lifecycle", agent_id: NORA, limit: 50 } };
  const events = (await ask(server, NORA, inspect)).body["result"]?.["events"];
  return [...(events as unknown as readonly TestReply["body"][])]
    .map((event): Readonly<Record<string, unknown>> => event["payload"] ?? {})
    .filter((payload) => payload["event_type"] === "rcns_release")
    .map((payload) => String(payload["synthesis_id"]))
    .toSorted();
}
