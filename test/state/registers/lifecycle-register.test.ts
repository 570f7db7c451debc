import { describe, expect, it, vi } from "vitest";
import type { AgentDocument, AgentStatus } from "../../../src/identity/agent-document.ts";
import { readAgentFile } from "../../../src/identity/agent-file.ts";
import type { JournalRecord } from "../../../src/state/journal/journal.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import type { LifecycleMethod } from "../../../src/state/registers/lifecycle.ts";
import {
  type LifecycleOutcome,
  LifecycleRegister,
} from "../../../src/state/registers/lifecycle-register.ts";
import { StoreUnavailableError } from "../../../src/state/store-fault.ts";
import { agentFile } from "../../support/deployment.ts";
import { PATIENCE } from "../../support/patience.ts";
import { readJws, sha256 } from "../../support/records.ts";
import { makeLastingStore } from "../../support/state.ts";
import { alterStore } from "../../support/store.ts";

const ALICE = makeAgent("alice", "a".repeat(64));
const BOB = makeAgent("bob", "b".repeat(64));

function makeAgent(name: string, agentId: string, status: AgentStatus = "active"): AgentDocument {
  const { document } = readAgentFile(
    agentFile({ agent_id: agentId, name, status }),
    `${name}.json`,
  );
  if (document === undefined) throw new Error("the document has problems");
  return document;
}

let minute = 0;

/** What the ledger makes of an event, in the same order. */
function makeEvent(agentId: string, extension: object): JournalRecord {
  minute += 1;
  const issued_at = new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
  const jws = `${encode({ alg: "none" })}.${encode({ agent_id: agentId, issued_at, ...extension })}.`;
  return { auditId: sha256(jws), jws };
}

/** Changes an agent, its events being kept in `journal` as well. */
function change(
  register: LifecycleRegister,
  agent: AgentDocument,
  method: LifecycleMethod,
  journal: JournalRecord[] = [],
  details: Readonly<Record<string, unknown>> = {},
): Promise<LifecycleOutcome> {
  return register.apply({
    method,
    agent,
    details: { reason: "a test", ...details },
    record: (extension) => {
      const event = makeEvent(agent.agentId, extension);
      journal.push(event);
      return Promise.resolve(event);
    },
  });
}

// AGTP "Agent Lifecycle", AGTP-LOG "Local Stream"
describe("LifecycleRegister", () => {
  it("has an agent stand where its document says, until something happens", async () => {
    const register = await LifecycleRegister.open(makeLastingStore());
    const retired = makeAgent("carol", "c".repeat(64), "retired");
    expect(register.statusOf(ALICE)).toBe("active");
    expect(register.statusOf(retired)).toBe("retired");
    expect(register.statusSince(ALICE)).toBeUndefined();
    expect(await register.events(ALICE.agentId, 10)).toEqual([]);
  });

  it("gives no two events one number, whichever of two nodes has written them", async () => {
    const store = makeLastingStore();
    const registers = [await LifecycleRegister.open(store), await LifecycleRegister.open(store)];
    await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        registers[index % 2]?.append(makeEvent(ALICE.agentId, { event_type: "rcns_release" })),
      ),
    );
    const entries = await store.list("lifecycle-events", { prefix: `${ALICE.agentId}/` });
    const numbers = entries.map(({ key }) => Number(key.slice(ALICE.agentId.length + 1)));
    expect(numbers).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
    expect((await LifecycleRegister.open(store)).statusOf(ALICE)).toBe("active");
  });

  it("leaves an agent retired that two nodes have changed at the same moment", async () => {
    const store = makeLastingStore();
    const [one, other] = [await LifecycleRegister.open(store), await LifecycleRegister.open(store)];
    await change(one, ALICE, "REVOKE");
    await change(other, ALICE, "DEACTIVATE");
    expect(other.statusOf(ALICE)).toBe("retired");
    expect(await other.events(ALICE.agentId, 10)).toHaveLength(2);
  });

  it("counts each change of a status once, another writer's too as soon as it is known", async () => {
    const store = makeLastingStore();
    const [one, other] = [await LifecycleRegister.open(store), await LifecycleRegister.open(store)];
    await change(one, ALICE, "DEACTIVATE");
    expect(one.revision).toBe(1);
    await change(one, BOB, "DEACTIVATE");
    await one.append(makeEvent(BOB.agentId, { event_type: "rcns_release" }));
    expect([one.revision, other.revision]).toEqual([2, 0]);
    // What it is about to write was decided from a state that is over, so it looks what has changed.
    await change(other, BOB, "REVOKE");
    expect(other.statusOf(ALICE)).toBe("suspended");
    expect(other.revision).toBe(2);
  });

  it("makes the event first, and then changes the state", async () => {
    const register = await LifecycleRegister.open(makeLastingStore());
    const outcome = await register.apply({
      method: "DEACTIVATE",
      agent: ALICE,
      details: { reason: "maintenance", actor: "ops" },
      record: async (extension) => {
        expect(register.statusOf(ALICE)).toBe("active");
        expect(extension).toEqual({
          event_type: "agent-lifecycle-suspended",
          previous_status: "active",
          new_status: "suspended",
          reason: "maintenance",
          actor: "ops",
        });
        return makeEvent(ALICE.agentId, extension);
      },
    });
    expect(outcome).toMatchObject({
      kind: "changed",
      status: "suspended",
      previousStatus: "active",
      event: { eventType: "agent-lifecycle-suspended" },
    });
    expect(register.statusOf(ALICE)).toBe("suspended");
    expect(register.statusOf(BOB)).toBe("active");
    const [event] = await register.events(ALICE.agentId, 1);
    expect(register.statusSince(ALICE)).toBe(readJws(event?.jws ?? "").payload["issued_at"]);
  });

  it("writes no event of what changes nothing or is not possible", async () => {
    const register = await LifecycleRegister.open(makeLastingStore());
    const journal: JournalRecord[] = [];
    expect(await change(register, ALICE, "ACTIVATE", journal)).toEqual({
      kind: "noop",
      status: "active",
    });
    await change(register, ALICE, "REVOKE", journal);
    expect(await change(register, ALICE, "REINSTATE", journal)).toMatchObject({ kind: "invalid" });
    expect(await change(register, ALICE, "REVOKE", journal)).toMatchObject({ kind: "noop" });
    await change(register, BOB, "DEACTIVATE", journal);
    expect(await change(register, BOB, "DEPRECATE", journal)).toMatchObject({ kind: "conflict" });
    expect(journal).toHaveLength(2);
  });

  it("changes nothing when the event cannot be written", async () => {
    const register = await LifecycleRegister.open(makeLastingStore());
    const apply = (record: () => Promise<JournalRecord | undefined>) =>
      register.apply({ method: "REVOKE", agent: ALICE, details: {}, record });
    expect(await apply(() => Promise.resolve(undefined))).toEqual({ kind: "unrecorded" });
    await expect(apply(() => Promise.reject(new Error("a fault")))).rejects.toThrow("a fault");
    expect(register.statusOf(ALICE)).toBe("active");
    expect(await change(register, ALICE, "REVOKE")).toMatchObject({ kind: "changed" });
  });

  it("decides the changes of one agent one after another", async () => {
    const register = await LifecycleRegister.open(makeLastingStore());
    const methods = ["DEACTIVATE", "DEACTIVATE", "REINSTATE", "REVOKE", "REVOKE"] as const;
    const outcomes = await Promise.all(methods.map((method) => change(register, ALICE, method)));
    expect(outcomes.map(({ kind }) => kind)).toEqual([
      ...["changed", "noop", "changed", "changed", "noop"],
    ]);
    const events = await register.events(ALICE.agentId, 10);
    expect(events.map(({ jws }) => readJws(jws).payload["new_status"])).toEqual([
      ...["retired", "active", "suspended"],
    ]);
  });

  it("does not have one agent wait for another", async () => {
    const register = await LifecycleRegister.open(makeLastingStore());
    void register.apply({
      method: "REVOKE",
      agent: ALICE,
      details: {},
      record: () => new Promise(() => undefined),
    });
    expect(await change(register, BOB, "REVOKE")).toMatchObject({ kind: "changed" });
  });

  it("calls a first ACTIVATE an issue, and a later one a reinstatement", async () => {
    const register = await LifecycleRegister.open(makeLastingStore());
    const dormant = makeAgent("carol", "c".repeat(64), "suspended");
    const types: string[] = [];
    for (const method of ["ACTIVATE", "DEACTIVATE", "ACTIVATE"] as const) {
      const outcome = await change(register, dormant, method);
      if (outcome.kind === "changed") types.push(outcome.event.eventType);
    }
    expect(types).toEqual([
      "agent-genesis-issued",
      "agent-lifecycle-suspended",
      "agent-lifecycle-reinstated",
    ]);
  });

  it("answers the newest events first, as many as are asked for", async () => {
    const register = await LifecycleRegister.open(makeLastingStore());
    const journal: JournalRecord[] = [];
    for (let round = 0; round < 6; round += 1) {
      await change(register, ALICE, "DEACTIVATE", journal);
      await change(register, ALICE, "REINSTATE", journal);
    }
    expect(await register.events(ALICE.agentId, 1000)).toEqual(journal.toReversed());
    expect(await register.events(ALICE.agentId, 3)).toEqual(journal.toReversed().slice(0, 3));
    expect(await register.events(BOB.agentId, 3)).toEqual([]);
  });
});

describe("LifecycleRegister.open", () => {
  it("finds states and events of an earlier process", async () => {
    const store = makeLastingStore();
    const first = await LifecycleRegister.open(store);
    await change(first, ALICE, "DEPRECATE");
    await change(first, BOB, "REVOKE");
    const second = await LifecycleRegister.open(store);
    expect(second.statusOf(ALICE)).toBe("deprecated");
    expect(second.statusOf(BOB)).toBe("retired");
    expect(second.statusSince(BOB)).toBe(first.statusSince(BOB));
    expect(await second.events(BOB.agentId, 9)).toEqual(await first.events(BOB.agentId, 9));
  });

  it("finds where a deprecated agent sends others, behind events that are not of its standing", async () => {
    const store = makeLastingStore();
    const first = await LifecycleRegister.open(store);
    const way = { successor_agent_id: BOB.agentId };
    await change(first, ALICE, "DEPRECATE", [], { ...way, migration_deadline: 7 });
    await first.append(makeEvent(ALICE.agentId, { event_type: "rcns_release" }));
    const second = await LifecycleRegister.open(store);
    expect([first.migrationOf(ALICE), second.migrationOf(ALICE)]).toEqual([way, way]);
    await change(second, ALICE, "REINSTATE", [], way);
    expect(second.migrationOf(ALICE)).toBeUndefined();
  });

  // The event is in the chain: whoever has seen it must find the state that it speaks of.
  it("makes up for a crash between an event and its state", async () => {
    const store = makeLastingStore();
    const journal: JournalRecord[] = [];
    const first = await LifecycleRegister.open(store);
    await change(first, ALICE, "DEACTIVATE", journal);
    store.fault = new Error("killed");
    await change(first, ALICE, "REVOKE", journal).catch(() => undefined);
    store.fault = undefined;
    const second = await LifecycleRegister.open(store, journal);
    expect(second.statusOf(ALICE)).toBe("retired");
    expect(await second.events(ALICE.agentId, 9)).toEqual(journal.toReversed());
  });

  it("takes no event in twice, however often it is started", async () => {
    const store = makeLastingStore();
    const journal: JournalRecord[] = [];
    const first = await LifecycleRegister.open(store);
    for (const method of ["DEACTIVATE", "REINSTATE", "DEPRECATE"] as const) {
      await change(first, ALICE, method, journal);
    }
    for (let start = 0; start < 3; start += 1) {
      const register = await LifecycleRegister.open(store, journal);
      expect(register.statusOf(ALICE)).toBe("deprecated");
      expect(await register.events(ALICE.agentId, 9)).toHaveLength(3);
    }
  });

  it("makes everything from the journal when the store was deleted", async () => {
    const journal: JournalRecord[] = [];
    const first = await LifecycleRegister.open(makeLastingStore());
    await change(first, ALICE, "DEACTIVATE", journal);
    await change(first, BOB, "REVOKE", journal);
    await change(first, ALICE, "REINSTATE", journal);
    const second = await LifecycleRegister.open(makeLastingStore(), journal);
    expect(second.statusOf(ALICE)).toBe("active");
    expect(second.statusOf(BOB)).toBe("retired");
    expect(await second.events(ALICE.agentId, 9)).toEqual([journal[2], journal[0]]);
  });

  it("passes over records that are no events", async () => {
    const records = [
      { auditId: "0".repeat(64), jws: "no jws" },
      makeEvent(ALICE.agentId, { event_type: "rcns_release" }),
      makeEvent(ALICE.agentId, { event_type: "x", new_status: "elsewhere" }),
      makeEvent(ALICE.agentId, { new_status: "retired" }),
    ];
    const register = await LifecycleRegister.open(makeLastingStore(), records);
    expect(register.statusOf(ALICE)).toBe("active");
  });
});

describe("LifecycleRegister over a store that fails", () => {
  it("stands by what the chain says, and stores it with the next change", async () => {
    const store = makeLastingStore();
    const register = await LifecycleRegister.open(store);
    store.fault = new Error("the disk is full");
    await expect(change(register, ALICE, "REVOKE")).rejects.toThrow("the disk is full");
    expect(register.statusOf(ALICE)).toBe("retired");
    store.fault = undefined;
    await change(register, BOB, "DEACTIVATE");
    const next = await LifecycleRegister.open(store);
    expect(next.statusOf(ALICE)).toBe("retired");
    expect(next.statusOf(BOB)).toBe("suspended");
    expect(await next.events(ALICE.agentId, 9)).toHaveLength(1);
  });

  // What is tried again is older than what was stored meanwhile.
  it("undoes nothing when it stores at last what could not be stored", async () => {
    const store = makeLastingStore();
    let fail: () => void = () => undefined;
    const failing = new Promise<never>((_, reject) => {
      fail = () => reject(new Error("the disk is full"));
    });
    const commits = [() => failing];
    const register = await LifecycleRegister.open(
      alterStore(store, { commit: (changes) => commits.shift()?.() ?? store.commit(changes) }),
    );
    const changed = change(register, ALICE, "DEACTIVATE");
    await new Promise((resolve) => setImmediate(resolve));
    const appended = register.append(
      makeEvent(ALICE.agentId, { event_type: "rcns_propose_accepted" }),
    );
    fail();
    await expect(changed).rejects.toThrow("the disk is full");
    await appended;
    const next = await LifecycleRegister.open(store);
    expect(next.statusOf(ALICE)).toBe("suspended");
    await change(next, ALICE, "REINSTATE");
    expect(await next.events(ALICE.agentId, 10)).toHaveLength(3);
  });

  it("stores it when it is asked to, too", async () => {
    const store = makeLastingStore();
    const register = await LifecycleRegister.open(store);
    store.fault = new Error("the disk is full");
    await change(register, ALICE, "REVOKE").catch(() => undefined);
    await expect(register.save()).rejects.toThrow("the disk is full");
    store.fault = undefined;
    await register.save();
    expect((await LifecycleRegister.open(store)).statusOf(ALICE)).toBe("retired");
  });
});

describe("LifecycleRegister on a store that other nodes share", () => {
  const unreachable = new StoreUnavailableError("unreachable", new Error("gone"));

  /** A store that notes which revisions were awaited everywhere. */
  function makeSharedStore() {
    const lasting = makeLastingStore();
    const awaited: number[] = [];
    const everywhere = async (revision: number): Promise<void> => void awaited.push(revision);
    return { store: Object.assign(lasting, { everywhere }), awaited };
  }

  it("says of no change that it is made while the others cannot hear of it", async () => {
    const { store, awaited } = makeSharedStore();
    const register = await LifecycleRegister.open(store);
    store.fault = unreachable;
    await expect(change(register, ALICE, "REVOKE")).rejects.toBe(unreachable);
    // It holds here, and asked for again it is no news, but still not there.
    expect(register.statusOf(ALICE)).toBe("retired");
    await expect(change(register, ALICE, "REVOKE")).rejects.toBe(unreachable);
    expect(awaited).toEqual([]);
    store.fault = undefined;
    expect(await change(register, ALICE, "REVOKE")).toMatchObject({ kind: "noop" });
    expect(awaited).toHaveLength(1);
    expect((await LifecycleRegister.open(store)).statusOf(ALICE)).toBe("retired");
  });

  it("tells the others by itself once the store can be reached again", async () => {
    const { store } = makeSharedStore();
    const register = await LifecycleRegister.open(store);
    store.fault = unreachable;
    await expect(change(register, ALICE, "REVOKE")).rejects.toBe(unreachable);
    store.fault = undefined;
    await vi.waitFor(async () => {
      expect((await LifecycleRegister.open(store)).statusOf(ALICE)).toBe("retired");
    }, PATIENCE);
  });

  it("waits for a change that another one of the same moment stores", async () => {
    const { store, awaited } = makeSharedStore();
    let go: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const register = await LifecycleRegister.open({
      ...store,
      commit: async (changes, expectations) => {
        await gate;
        return store.commit(changes, expectations);
      },
    });
    const [first, second] = [change(register, ALICE, "REVOKE"), change(register, BOB, "REVOKE")];
    let isAnswered = false;
    void second.then(() => {
      isAnswered = true;
    });
    for (let turn = 0; turn < 10; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(isAnswered).toBe(false);
    go();
    await Promise.all([first, second]);
    expect(awaited).toHaveLength(2);
  });
});

describe("an event that two nodes know of", () => {
  it("leaves an agent where a later one of its chain has brought it, which was stored before", async () => {
    const store = makeLastingStore();
    const [one, other] = [await LifecycleRegister.open(store), await LifecycleRegister.open(store)];
    const fault = new StoreUnavailableError("unreachable", new Error("gone"));
    store.fault = fault;
    await change(one, ALICE, "DEPRECATE");
    store.fault = undefined;
    await change(other, ALICE, "DEACTIVATE");
    await one.save();
    const next = await LifecycleRegister.open(store);
    for (const register of [one, next]) expect(register.statusOf(ALICE)).toBe("suspended");
    expect(await next.events(ALICE.agentId, 10)).toHaveLength(2);
  });

  it("is in the stream once, though nobody saw that it was stored, or a start has taken it up", async () => {
    const memory = createMemoryStore();
    const journal: JournalRecord[] = [];
    let isAnswered = false;
    const register = await LifecycleRegister.open(
      alterStore(memory, {
        commit: async (...args) => {
          const outcome = await memory.commit(...args);
          if (isAnswered) return outcome;
          throw new StoreUnavailableError("undecided", new Error("gone"));
        },
      }),
    );
    await change(register, ALICE, "DEACTIVATE", journal);
    await LifecycleRegister.open(memory, journal);
    isAnswered = true;
    await register.save();
    await change(register, ALICE, "REINSTATE", journal);
    expect(await register.events(ALICE.agentId, 10)).toEqual(journal.toReversed());
  });
});

describe("LifecycleRegister.replay", () => {
  it("makes up for changes that the store has lost, once, though two nodes do so at a time", async () => {
    const journal: JournalRecord[] = [];
    const before = await LifecycleRegister.open(makeLastingStore());
    await change(before, ALICE, "DEACTIVATE", journal);
    await change(before, ALICE, "ACTIVATE", journal);
    await change(before, ALICE, "DEACTIVATE", journal);
    await change(before, BOB, "REVOKE", journal);
    const store = makeLastingStore();
    const registers = [await LifecycleRegister.open(store), await LifecycleRegister.open(store)];
    await Promise.all(registers.map((register) => register.replay(journal)));
    await Promise.all(registers.map((register) => register.replay(journal)));
    registers.push(await LifecycleRegister.open(store));
    for (const register of registers) {
      expect([ALICE, BOB].map((agent) => register.statusOf(agent))).toEqual([
        "suspended",
        "retired",
      ]);
      expect(await register.events(ALICE.agentId, 10)).toEqual(journal.slice(0, 3).toReversed());
      expect(await register.events(BOB.agentId, 10)).toEqual(journal.slice(3));
    }
  });

  it("takes nothing back that came later, nor what this node has yet to store", async () => {
    const journal: JournalRecord[] = [];
    const store = makeLastingStore();
    const register = await LifecycleRegister.open(store);
    await change(register, ALICE, "DEACTIVATE", journal);
    await change(register, ALICE, "ACTIVATE", journal);
    await register.replay(journal.slice(0, 1));
    expect(register.statusOf(ALICE)).toBe("active");
    store.fault = new StoreUnavailableError("unreachable", new Error("gone"));
    await change(register, ALICE, "REVOKE", journal);
    await register.replay(journal);
    store.fault = undefined;
    await register.save();
    const again = await LifecycleRegister.open(store);
    expect(again.statusOf(ALICE)).toBe("retired");
    expect(await again.events(ALICE.agentId, 10)).toEqual(journal.toReversed());
  });
});

describe("the stream of an agent to which much happens", () => {
  it("keeps every change of an agent's status, and of its other events the latest", async () => {
    const store = makeLastingStore();
    const options = { eventsKept: 3 };
    const journal: JournalRecord[] = [];
    const register = await LifecycleRegister.open(store, [], options);
    const happen = async (count: number) => {
      for (let index = 0; index < count; index += 1) {
        const event = makeEvent(ALICE.agentId, { event_type: "rcns_release" });
        journal.push(event);
        await register.append(event);
      }
    };
    const keptBy = async (one: LifecycleRegister) =>
      (await one.events(ALICE.agentId, 100)).map(({ auditId }) => auditId);
    await happen(2);
    await change(register, ALICE, "DEACTIVATE", journal);
    await happen(5);
    const latest = journal.slice(-3).reverse();
    const expected = [...latest, journal[2]].map((record) => record?.auditId);
    expect(await keptBy(register)).toEqual(expected);
    expect(await store.list("lifecycle-events")).toHaveLength(4);

    // What had to go is not taken for what a crash kept from the store; what the crash did is taken.
    const lost = makeEvent(ALICE.agentId, { event_type: "rcns_release" });
    const next = await LifecycleRegister.open(store, [...journal, lost], options);
    const after = [lost.auditId, ...expected.slice(0, 2), expected[3]];
    expect(await keptBy(next)).toEqual(after);
    const unseen = makeEvent(ALICE.agentId, { event_type: "rcns_release" });
    const third = await LifecycleRegister.open(store, [unseen], options);
    expect(await keptBy(third)).toEqual([unseen.auditId, ...after.slice(0, 2), after[3]]);
  });

  it("keeps no more of them where two nodes write, each of which hears late of the other", async () => {
    const store = makeLastingStore();
    const options = { eventsKept: 3 };
    const nodes = [
      await LifecycleRegister.open(store, [], options),
      await LifecycleRegister.open(store, [], options),
    ];
    const happened: JournalRecord[] = [];
    for (const at of [0, 0, 0, 0, 0, 1, 1, 0, 0]) {
      const event = makeEvent(ALICE.agentId, { event_type: "rcns_release" });
      happened.push(event);
      await nodes[at]?.append(event);
    }
    const kept = await nodes[0]?.events(ALICE.agentId, 100);
    const latest = happened.slice(-3).reverse();
    expect(kept?.map(({ auditId }) => auditId)).toEqual(latest.map(({ auditId }) => auditId));
  });
});
