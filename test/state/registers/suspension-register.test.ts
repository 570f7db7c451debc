import { describe, expect, it } from "vitest";
import type { Suspension } from "../../../src/state/registers/suspension.ts";
import type { SuspensionRegister } from "../../../src/state/registers/suspension-register.ts";
import { makeLastingStore } from "../../support/state.ts";
import { openTestStore } from "../../support/store.ts";
import { openRegisters } from "../../support/tasks.ts";

const ALICE = "a".repeat(64);
const BOB = "b".repeat(64);
const DAY = 24 * 3_600_000;

async function openFresh(limits = {}) {
  const store = makeLastingStore();
  const clock = { at: 0 };
  const { suspensions } = await openRegisters(store, clock, limits);
  return { store, clock, suspensions };
}

function suspend(register: SuspensionRegister, sessionId: string, agentId = ALICE) {
  return register.suspend({ sessionId, agentId, resumeBy: 1_000 }, { at: 3 });
}

function resume(register: SuspensionRegister, nonce: string, agentId = ALICE) {
  return register.resume({ agentId, nonce, isAdmitted: () => true });
}

// AGTP "SUSPEND"
describe("SuspensionRegister", () => {
  it("holds the session until it is resumed with the nonce", async () => {
    const { suspensions } = await openFresh();
    const { kind, nonce } = await suspend(suspensions, "s-1");
    expect(kind).toBe("halted");
    expect(Buffer.from(nonce, "base64url").length).toBe(32);
    expect(suspensions.holdOf("s-1")).toMatchObject({ agentId: ALICE, state: "suspended" });
    expect(suspensions.holdOf("s-2")).toBeUndefined();
    const resumed = await resume(suspensions, nonce);
    expect(resumed).toMatchObject({ kind: "resumed", checkpoint: { at: 3 } });
    expect(suspensions.holdOf("s-1")).toBeUndefined();
  });

  it("lets exactly one of many go on that come at once", async () => {
    const { suspensions } = await openFresh();
    const { nonce } = await suspend(suspensions, "s-1");
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => resume(suspensions, nonce)),
    );
    const kinds = outcomes.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "resumed")).toHaveLength(1);
    expect(kinds.filter((kind) => kind === "reused")).toHaveLength(19);
  });

  it("keeps no checkpoint of a session whose time was over, and that has made room", async () => {
    const { store, clock, suspensions } = await openFresh({ perOwner: 1, openPerOwner: 1 });
    await suspend(suspensions, "s-1");
    clock.at = 2_000;
    const session = { sessionId: "s-2", agentId: ALICE, resumeBy: 9_000 };
    expect((await suspensions.suspend(session, { at: 4 })).kind).toBe("halted");
    expect(suspensions.holdOf("s-1")).toBeUndefined();
    const kept = await store.list("session-checkpoints");
    expect(kept.map(({ value }) => value)).toEqual([{ at: 4 }]);
  });

  it("suspends a session once where two processes are asked at once", async () => {
    const store = makeLastingStore();
    const clock = { at: 0 };
    const [one, other] = [await openRegisters(store, clock), await openRegisters(store, clock)];
    const halting = await Promise.all([
      suspend(one.suspensions, "s-1"),
      suspend(other.suspensions, "s-1"),
    ]);
    expect(halting.map(({ kind }) => kind).toSorted()).toEqual(["halted", "held"]);
  });

  it("knows no nonce but the session's own, for nobody but its agent", async () => {
    const { suspensions } = await openFresh();
    const { nonce } = await suspend(suspensions, "s-1");
    expect((await resume(suspensions, `${nonce}A`)).kind).toBe("unknown");
    expect((await resume(suspensions, nonce, BOB)).kind).toBe("unknown");
    const elsewhere = { agentId: ALICE, nonce, isAdmitted: () => false };
    expect((await suspensions.resume(elsewhere)).kind).toBe("unknown");
    expect((await resume(suspensions, nonce)).kind).toBe("resumed");
  });

  it("knows the nonces of earlier suspensions of the session as used", async () => {
    const { suspensions } = await openFresh();
    const first = await suspend(suspensions, "s-1");
    await resume(suspensions, first.nonce);
    const second = await suspend(suspensions, "s-1");
    expect((await resume(suspensions, first.nonce)).kind).toBe("reused");
    expect(suspensions.holdOf("s-1")).toMatchObject({ state: "suspended" });
    expect((await resume(suspensions, second.nonce)).kind).toBe("resumed");
  });

  it("suspends no session twice", async () => {
    const { suspensions } = await openFresh();
    const both = await Promise.all([suspend(suspensions, "s-1"), suspend(suspensions, "s-1")]);
    expect(both.map(({ kind }) => kind)).toEqual(["halted", "held"]);
  });

  it("resumes nothing after its time, whether it was swept or not", async () => {
    const { suspensions, clock, store } = await openFresh();
    const { nonce } = await suspend(suspensions, "s-1");
    clock.at = 1_000;
    expect(suspensions.holdOf("s-1")).toMatchObject({ state: "expired" });
    expect((await resume(suspensions, nonce)).kind).toBe("expired");
    const ended: Suspension[] = [];
    const onExpired = async (one: Suspension) => void ended.push(one);
    await suspensions.sweep(onExpired);
    await suspensions.sweep(onExpired);
    expect(ended).toMatchObject([{ sessionId: "s-1" }]);
    expect(await store.list("session-checkpoints")).toEqual([]);
    expect((await resume(suspensions, nonce)).kind).toBe("expired");
  });

  it("does what the end of a session brings with it again, where that failed", async () => {
    const { suspensions, clock } = await openFresh();
    await suspend(suspensions, "s-1");
    clock.at = 1_000;
    const failing = () => Promise.reject(new Error("not now"));
    await expect(suspensions.sweep(failing)).rejects.toThrow("not now");
    const ended: string[] = [];
    await suspensions.sweep(async ({ sessionId }) => void ended.push(sessionId));
    expect(ended).toEqual(["s-1"]);
  });

  it("brings no end upon a session that another process has resumed in time", async () => {
    const store = makeLastingStore();
    const clock = { at: 0 };
    const one = await openRegisters(store, clock);
    const { nonce } = await suspend(one.suspensions, "s-1");
    await suspend(one.suspensions, "s-2");
    const other = await openRegisters(store, clock);
    expect((await resume(one.suspensions, nonce)).kind).toBe("resumed");
    clock.at = 1_000;
    const ended: string[] = [];
    await other.suspensions.sweep(async ({ sessionId }) => void ended.push(sessionId));
    expect(ended).toEqual(["s-2"]);
  });

  it("ends a session for good, suspended or not", async () => {
    const { suspensions } = await openFresh();
    const { nonce } = await suspend(suspensions, "s-1");
    const session = { sessionId: "s-1", agentId: ALICE, reason: "done" };
    expect((await suspensions.end(session)).kind).toBe("halted");
    expect((await resume(suspensions, nonce)).kind).toBe("ended");
    await suspensions.end({ ...session, sessionId: "s-2" });
    expect(suspensions.holdOf("s-2")).toMatchObject({ state: "ended", reason: "done" });
    expect((await suspensions.end(session)).kind).toBe("held");
  });

  it("keeps the hash of the nonce, and nothing that leads to it", async () => {
    const { suspensions, store } = await openFresh();
    const { nonce } = await suspend(suspensions, "s-1");
    const kept = JSON.stringify([
      await store.list("suspended-sessions"),
      await store.list("session-checkpoints"),
    ]);
    expect(kept).toContain("nonceHash");
    expect(kept).not.toContain(nonce);
  });

  it("changes nothing that it cannot store", async () => {
    const { suspensions, store } = await openFresh();
    const { nonce } = await suspend(suspensions, "s-1");
    store.fault = new Error("the disk is full");
    await expect(resume(suspensions, nonce)).rejects.toThrow("full");
    await expect(suspend(suspensions, "s-2")).rejects.toThrow("full");
    expect(suspensions.holdOf("s-1")).toMatchObject({ state: "suspended" });
    expect(suspensions.holdOf("s-2")).toBeUndefined();
    store.fault = undefined;
    expect((await resume(suspensions, nonce)).kind).toBe("resumed");
  });

  it("takes no more than an agent may have, and forgets spent nonces first", async () => {
    const { suspensions } = await openFresh({ openPerOwner: 2, perOwner: 3 });
    const { nonce } = await suspend(suspensions, "s-1");
    await suspend(suspensions, "s-2");
    expect((await suspend(suspensions, "s-3")).kind).toBe("full");
    expect((await suspend(suspensions, "s-3", BOB)).kind).toBe("halted");
    await resume(suspensions, nonce);
    const second = await suspend(suspensions, "s-1");
    await resume(suspensions, second.nonce);
    await suspend(suspensions, "s-1");
    expect((await resume(suspensions, nonce)).kind).toBe("unknown");
    expect((await resume(suspensions, second.nonce)).kind).toBe("reused");
  });

  it("forgets what is over for a week", async () => {
    const { suspensions, clock } = await openFresh();
    const { nonce } = await suspend(suspensions, "s-1");
    const nothing = () => Promise.resolve();
    clock.at = 7 * DAY + 999;
    await suspensions.sweep(nothing);
    expect(suspensions.holdOf("s-1")).toMatchObject({ state: "expired" });
    clock.at = 7 * DAY + 1_000;
    await suspensions.sweep(nothing);
    expect(suspensions.holdOf("s-1")).toBeUndefined();
    expect((await resume(suspensions, nonce)).kind).toBe("unknown");
  });

  it("is the same for the next process, in every driver", async () => {
    for (const driver of ["memory", "sqlite"] as const) {
      const store = await openTestStore(driver);
      const clock = { at: 0 };
      const first = (await openRegisters(store, clock)).suspensions;
      const spent = await suspend(first, "s-1");
      await resume(first, spent.nonce);
      const waiting = await suspend(first, "s-2");
      const next = (await openRegisters(store, clock)).suspensions;
      expect(next.holdOf("s-1")).toBeUndefined();
      expect(next.holdOf("s-2")).toEqual(first.holdOf("s-2"));
      expect((await resume(next, spent.nonce)).kind).toBe("reused");
      const resumed = await resume(next, waiting.nonce);
      expect(resumed).toMatchObject({ kind: "resumed", checkpoint: { at: 3 } });
    }
  });
});
