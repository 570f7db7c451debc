/** Requests to a process whose view is outdated, such as one that was stopped for longer than its lease. */
import { describe, expect, it } from "vitest";
import { StoreUnavailableError } from "../../src/state/store-fault.ts";
import { openServer, type TestServer } from "../support/dispatch.ts";
import { ALICE, BOB, hostedFiles } from "../support/hosted-agents.ts";
import { BreakableJournal } from "../support/ledger.ts";
import { openBreakableState } from "../support/state.ts";

/** A server whose lease has ended; `hear` is how it hears of what it has missed. */
async function openHeld(hear: (view: { isFresh: boolean }) => Promise<void>) {
  const state = await openBreakableState(new BreakableJournal());
  let asked = 0;
  const view = {
    isFresh: false,
    catchUp: () => {
      asked += 1;
      return hear(view);
    },
  };
  const files = hostedFiles({ lifecycle_auth: "open" });
  const server = await openServer(files, { state: { ...state, view } });
  return { server, view, other: await openServer(files, { state }), asked: () => asked };
}

async function look(server: TestServer): Promise<unknown> {
  const request = { method: "QUERY", path: "/lists", headers: { "Agent-ID": ALICE } };
  const { status, body } = await server.send(request);
  return [status, body["error"]?.["code"]];
}

const REFUSED = [503, "store-unavailable"];

// [cluster] view_lease_ms
describe("a process that has heard nothing for longer than its lease", () => {
  it("serves what comes before it has caught up, all from one look", async () => {
    const { server, asked } = await openHeld(async (view) => {
      view.isFresh = true;
    });
    const seen = await Promise.all([look(server), look(server), look(server)]);
    expect(seen).toEqual(seen.map(() => [200, undefined]));
    expect(asked()).toBe(1);
  });

  it("serves no agent that was revoked meanwhile", async () => {
    const parts = await openHeld(async (view) => {
      const revocation = { method: "REVOKE", body: { agent_id: ALICE, reason: "test" } };
      await parts.other.send({ ...revocation, headers: { "Agent-ID": BOB } });
      view.isFresh = true;
    });
    expect(await look(parts.server)).toEqual([410, "agent-retired"]);
  });

  it("refuses where it hears nothing, and lets nobody wait again before it has heard something", async () => {
    const { server, view, asked } = await openHeld(async () => {
      throw new StoreUnavailableError("unreachable", new Error("cut off"));
    });
    expect(await Promise.all([look(server), look(server)])).toEqual([REFUSED, REFUSED]);
    expect(await look(server)).toEqual(REFUSED);
    expect(asked()).toBe(1);
    view.isFresh = true;
    expect(await look(server)).toEqual([200, undefined]);
    view.isFresh = false;
    expect(await look(server)).toEqual(REFUSED);
    expect(asked()).toBe(2);
  });

  it("refuses where what it hears gives it no lease", async () => {
    const { server, asked } = await openHeld(async () => undefined);
    expect(await look(server)).toEqual(REFUSED);
    expect(await look(server)).toEqual(REFUSED);
    expect(asked()).toBe(1);
  });
});
