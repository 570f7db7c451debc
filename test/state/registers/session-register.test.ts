import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import {
  type SessionOptions,
  SessionRegister,
  type SessionUser,
} from "../../../src/state/registers/session-register.ts";
import type { Change, Store } from "../../../src/state/store.ts";
import { StoreUnavailableError } from "../../../src/state/store-fault.ts";
import { HearingNode } from "../../support/hearing-nodes.ts";
import { PATIENCE } from "../../support/patience.ts";
import { describeWithPostgres, openPostgres, postgres } from "../../support/postgres.ts";
import { openTestStore } from "../../support/store.ts";

const ALICE = { agentId: "a".repeat(64), tlsIdentity: "f1", isHosted: true };
const BOB: SessionUser = { agentId: "b".repeat(64), tlsIdentity: "f2", isHosted: true };
const STRANGER: SessionUser = { agentId: "e".repeat(64), tlsIdentity: undefined, isHosted: false };
const NOBODY: SessionUser = { agentId: undefined, tlsIdentity: undefined, isHosted: false };

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** A store in memory that counts its commits, and fails while it is told to. */
function makeStore(): Store & { readonly commits: (readonly Change[])[]; isFull: boolean } {
  const store = createMemoryStore();
  const commits: (readonly Change[])[] = [];
  return {
    get: (...given) => store.get(...given),
    list: (...given) => store.list(...given),
    changes: (...given) => store.changes(...given),
    close: () => store.close(),
    commits,
    isFull: false,
    commit(changes, expectations) {
      if (this.isFull) return Promise.reject(new StoreUnavailableError("full", new Error("full")));
      commits.push(changes);
      return store.commit(changes, expectations);
    },
  };
}

const open = (options?: SessionOptions): Promise<SessionRegister> =>
  SessionRegister.open(createMemoryStore(), options);

/** Tells whether somebody may use a session, once the answer may leave. */
async function admits(register: SessionRegister, id: string, user: SessionUser): Promise<boolean> {
  return register.admit(id, user);
}

/** Two callers begin one session at two processes in the same moment, again and again. */
async function beginAtOnce(...stores: readonly [Store, Store]): Promise<void> {
  const [one, other] = [
    await SessionRegister.open(stores[0]),
    await SessionRegister.open(stores[1]),
  ];
  for (let round = 0; round < 5; round += 1) {
    const id = `s-${round}`;
    const begun = await Promise.all([admits(one, id, ALICE), admits(other, id, BOB)]);
    expect(begun.toSorted()).toEqual([false, true]);
    const [holder, loser] = begun[0] ? [ALICE, BOB] : [BOB, ALICE];
    for (const register of [one, other]) {
      expect(await admits(register, id, holder)).toBe(true);
      expect(register.admit(id, loser)).toBe(false);
    }
  }
}

// AGTP "Sessions"
describe("SessionRegister", () => {
  it("gives a session to the agent that uses it first", async () => {
    const register = await open();
    expect(await admits(register, "s-1", ALICE)).toBe(true);
    expect(register.admit("s-1", ALICE)).toBe(true);
    expect(await admits(register, "s-2", BOB)).toBe(true);
  });

  it.each([
    ["another agent", BOB],
    ["another agent with the same certificate", { ...BOB, tlsIdentity: "f1" }],
    ["the same agent with another certificate", { ...ALICE, tlsIdentity: "f9" }],
    ["the same agent without a certificate", { ...ALICE, tlsIdentity: undefined }],
    ["an agent that the server does not know", STRANGER],
    ["whoever names no agent", NOBODY],
    ["nobody with the agent's certificate", { ...NOBODY, tlsIdentity: "f1" }],
  ])("refuses it to %s, while it is stored and after", async (_, user) => {
    const register = await open();
    const kept = register.admit("s-1", ALICE);
    expect(register.admit("s-1", user)).toBe(false);
    await kept;
    expect(register.admit("s-1", user)).toBe(false);
    expect(register.admit("s-1", ALICE)).toBe(true);
  });

  it("keeps no session of strangers and of nobody", async () => {
    const register = await open();
    expect(register.admit("s-1", STRANGER)).toBe(true);
    expect(register.admit("s-1", NOBODY)).toBe(true);
    expect(await admits(register, "s-1", ALICE)).toBe(true);
    expect(register.admit("s-1", STRANGER)).toBe(false);
  });

  it("forgets the session that an agent has not used for longest", async () => {
    const clock = { at: 0 };
    const register = await open({ limits: { perOwner: 3 }, now: () => clock.at });
    for (const id of ["s-1", "s-2", "s-3", "s-1", "s-4"]) {
      clock.at += 1;
      await register.admit(id, ALICE);
    }
    for (const id of ["s-1", "s-3", "s-4"]) expect(register.admit(id, BOB)).toBe(false);
    expect(await admits(register, "s-2", BOB)).toBe(true);
  });

  it("remembers for a day whose a session is, and when it was last used", async () => {
    const clock = { at: 0 };
    const register = await open({ now: () => clock.at });
    await register.admit("s-1", ALICE);
    clock.at = DAY - 1;
    register.admit("s-1", ALICE);
    expect(register.find("s-1")).toMatchObject({ agentId: ALICE.agentId, lastActivityAt: DAY - 1 });
    clock.at = 2 * DAY - 2;
    expect(register.admit("s-1", BOB)).toBe(false);
    clock.at = 2 * DAY - 1;
    expect(register.find("s-1")).toBeUndefined();
    expect(await admits(register, "s-1", BOB)).toBe(true);
    expect(register.admit("s-1", ALICE)).toBe(false);
    expect(register.find("s-1")).toMatchObject({ agentId: BOB.agentId });
  });

  it("makes a session its agent's over another certificate", async () => {
    const register = await open();
    await register.admit("s-1", ALICE);
    await register.rebind("s-1", ALICE.agentId, "f9");
    expect(register.admit("s-1", ALICE)).toBe(false);
    expect(register.admit("s-1", { ...ALICE, tlsIdentity: "f9" })).toBe(true);
  });

  it("lets no agent push out another's session", async () => {
    const register = await open({ limits: { perOwner: 20, all: 21, takesFromLargest: true } });
    await register.admit("s-1", ALICE);
    for (let more = 0; more < 100; more += 1) await register.admit(`t-${more}`, BOB);
    expect(register.admit("s-1", BOB)).toBe(false);
    expect(register.admit("s-1", ALICE)).toBe(true);
  });
});

describe("SessionRegister over a store", () => {
  it("finds the sessions of a process that was killed", async () => {
    const store = makeStore();
    const before = await SessionRegister.open(store);
    await before.admit("s-1", ALICE);
    await before.admit("s-2", { ...ALICE, tlsIdentity: undefined });
    await before.rebind("s-1", ALICE.agentId, "f9");
    const register = await SessionRegister.open(store);
    expect(register.admit("s-1", ALICE)).toBe(false);
    expect(register.admit("s-1", { ...ALICE, tlsIdentity: "f9" })).toBe(true);
    expect(register.admit("s-2", ALICE)).toBe(false);
    expect(register.admit("s-2", { ...ALICE, tlsIdentity: undefined })).toBe(true);
  });

  it("leaves a session with the certificate that another process has bound it to", async () => {
    const store = makeStore();
    const clock = { at: 0 };
    const now = (): number => clock.at;
    const register = await SessionRegister.open(store, { now });
    await register.admit("s-1", ALICE);
    const other = await SessionRegister.open(store, { now });
    await other.rebind("s-1", ALICE.agentId, "f9");
    clock.at = MINUTE;
    register.admit("s-1", ALICE);
    await register.save();
    const after = await SessionRegister.open(store, { now });
    expect(after.admit("s-1", { ...ALICE, tlsIdentity: "f9" })).toBe(true);
  });

  it("has a session bound to another certificate on every node once that is said", async () => {
    const memory = createMemoryStore();
    const nodes: HearingNode<SessionRegister>[] = [0, 1].map(
      (own) =>
        new HearingNode(memory, {
          open: (store) => SessionRegister.open(store),
          everywhere: async () => nodes[1 - own]?.hear(),
        }),
    );
    for (const node of nodes) await node.start();
    const [one, other] = nodes.map(({ registers }) => registers);
    await one?.admit("s-1", ALICE);
    await nodes[1]?.hear();
    expect(other?.admit("s-1", ALICE)).toBe(true);
    await one?.rebind("s-1", ALICE.agentId, "f9");
    expect(other?.admit("s-1", { ...ALICE, tlsIdentity: "f9" })).toBe(true);
    expect(other?.admit("s-1", ALICE)).toBe(false);
  });

  it("keeps a session that is begun again after a day, while another process forgets it", async () => {
    const store = makeStore();
    const clock = { at: 0 };
    const now = (): number => clock.at;
    const register = await SessionRegister.open(store, { now });
    await register.admit("s-1", ALICE);
    clock.at = DAY;
    const other = await SessionRegister.open(store, { now });
    expect(await register.admit("s-1", ALICE)).toBe(true);
    expect(await admits(other, "s-1", BOB)).toBe(false);
    expect(register.admit("s-1", ALICE)).toBe(true);
  });

  it("writes a session once in ten minutes, however often it is used", async () => {
    const clock = { at: 0 };
    const store = makeStore();
    const register = await SessionRegister.open(store, { now: () => clock.at });
    await register.admit("s-1", ALICE);
    for (; clock.at < 10 * MINUTE - 1; clock.at += 1_000) register.admit("s-1", ALICE);
    await register.save();
    expect(store.commits).toHaveLength(2);
    const opened = async (): Promise<SessionRegister> =>
      SessionRegister.open(store, { now: () => clock.at });
    const last = clock.at - 1_000;
    expect((await opened()).find("s-1")).toMatchObject({ lastActivityAt: last });
    for (; clock.at < 60 * MINUTE; clock.at += 1_000) await register.admit("s-1", ALICE);
    expect(store.commits.length).toBeLessThanOrEqual(8);
    const used = (await opened()).find("s-1")?.lastActivityAt ?? 0;
    expect(clock.at - used).toBeLessThanOrEqual(10 * MINUTE + 1_000);
  });

  it("forgets in the store what nobody has used for a day, and what made room", async () => {
    const clock = { at: 0 };
    const store = makeStore();
    const options = { limits: { perOwner: 2 }, now: () => clock.at };
    const register = await SessionRegister.open(store, options);
    for (const id of ["s-1", "s-2", "s-3"]) {
      clock.at += 1;
      await register.admit(id, ALICE);
    }
    expect((await store.list("sessions")).map(({ key }) => key)).toEqual(["s-2", "s-3"]);
    clock.at = DAY + 10;
    await register.admit("t-1", BOB);
    expect((await store.list("sessions")).map(({ key }) => key)).toEqual(["t-1"]);
  });

  it("knows whose a session is that cannot be stored, and stores it later", async () => {
    const clock = { at: 0 };
    const store = makeStore();
    const faults: unknown[] = [];
    const onFault = (error: unknown): void => void faults.push(error);
    const limits = { perOwner: 3 };
    const register = await SessionRegister.open(store, { limits, onFault, now: () => clock.at });
    store.isFull = true;
    for (const id of ["s-1", "s-2", "s-3", "s-4"])
      expect(await admits(register, id, ALICE)).toBe(true);
    expect(faults).toHaveLength(4);
    for (const id of ["s-2", "s-3", "s-4"]) expect(register.admit(id, BOB)).toBe(false);
    // It has no more of them than the store would keep.
    expect(register.find("s-1")).toBeUndefined();
    store.isFull = false;
    clock.at = 10_000;
    register.admit("s-2", ALICE);
    await expect.poll(async () => (await store.list("sessions")).length, PATIENCE).toBe(1);
    const after = await SessionRegister.open(store, { now: () => clock.at });
    expect(after.admit("s-2", BOB)).toBe(false);
  });

  it.each(["memory", "sqlite"] as const)(
    "gives a session to one of those that begin it at two processes at once, in a store of driver %s",
    async (driver) => {
      const store = await openTestStore(driver);
      await beginAtOnce(store, store);
    },
  );

  it("leaves a session to the process that was faster, and keeps one that another uses", async () => {
    const clock = { at: 0 };
    const store = makeStore();
    const opened = (): Promise<SessionRegister> =>
      SessionRegister.open(store, { now: () => clock.at });
    const [one, other] = [await opened(), await opened()];
    await one.admit("s-1", ALICE);
    // It does not know yet, and learns it before its answer leaves.
    expect(await other.admit("s-1", { ...ALICE, tlsIdentity: "f9" })).toBe(false);
    expect(await other.admit("s-1", BOB)).toBe(false);
    expect(other.admit("s-1", BOB)).toBe(false);
    expect(other.admit("s-1", ALICE)).toBe(true);
    clock.at = DAY - 1;
    await one.admit("s-1", ALICE);
    await one.save();
    clock.at = DAY + 1;
    // What it writes has it look at what others have written, and at what is over.
    await one.admit("s-2", BOB);
    await other.admit("s-2", ALICE);
    await other.admit("s-3", BOB);
    expect(other.find("s-1")).toMatchObject({ lastActivityAt: DAY - 1 });
    expect(await store.get("sessions", "s-1")).toMatchObject({ agentId: ALICE.agentId });
  });
});

describeWithPostgres("SessionRegister over a database", () => {
  it("gives a session to one of those that begin it at two nodes at once", async () => {
    const url = await postgres().makeDatabase();
    await beginAtOnce(await openPostgres(url), await openPostgres(url));
  });
});
