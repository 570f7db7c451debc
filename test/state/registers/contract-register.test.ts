import { describe, expect, it, vi } from "vitest";
import type { Contract } from "../../../src/endpoint/contract.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import { ContractRegister } from "../../../src/state/registers/contract-register.ts";
import { PATIENCE } from "../../support/patience.ts";
import { alterStore } from "../../support/store.ts";

const HOUR = 3_600_000;

function contract(id: string, changes: Partial<Contract> = {}): Contract {
  return {
    synthesisId: id,
    agentId: "alice",
    endpoint: {
      method: "BOOK",
      path: "/suite",
      description: "Books a suite.",
      semantic: {
        intent: "Book.",
        actor: "agent",
        outcome: "Booked.",
        capability: "transaction",
        confidence: 1,
        impact: "reversible",
        is_idempotent: false,
      },
      input_schema: { type: "object" },
      output_schema: {},
      errors: ["composition_failed"],
      required_scopes: [],
      handler: { type: "composition" },
    },
    plan: { name: "suite", version: "1", steps: [], aggregation: "last" },
    lineage: { recipe_name: "suite", recipe_version: "1" },
    contractHash: "0".repeat(64),
    origin: "propose",
    sessionId: undefined,
    isPersistent: false,
    issuedAt: 0,
    expiresAt: HOUR,
    state: "active",
    ...changes,
  };
}

async function open(store = createMemoryStore()) {
  const clock = { now: 0 };
  const register = await ContractRegister.open({
    store,
    tombstoneMs: HOUR,
    now: () => clock.now,
  });
  return { register, clock, store };
}

// AGTP-API §10.1.1, §10.1.4
describe("ContractRegister", () => {
  it("is usable by its own agent alone", async () => {
    const { register } = await open();
    await register.add(contract("syn-1"));
    expect(register.present("syn-1", "alice").kind).toBe("usable");
    expect(register.present("syn-1", "bob").kind).toBe("foreign");
    expect(register.present("syn-1", undefined).kind).toBe("foreign");
    expect(register.present("syn-2", "alice").kind).toBe("unknown");
  });

  it("can be presented while it is offered, but is not active yet", async () => {
    const { register } = await open();
    await register.add(contract("syn-1", { state: "offered" }));
    expect(register.present("syn-1", "alice").kind).toBe("usable");
    expect(register.active("alice")).toEqual([]);
    await register.change("syn-1", "active");
    expect(register.active("alice").map(({ synthesisId }) => synthesisId)).toEqual(["syn-1"]);
  });

  it.each(["released", "revoked"] as const)("is over once it is %s", async (state) => {
    const { register } = await open();
    await register.add(contract("syn-1"));
    await register.change("syn-1", state, "because");
    expect(register.present("syn-1", "alice").kind).toBe("over");
    expect(register.find("syn-1")).toMatchObject({ state, reason: "because" });
    expect(register.active("alice")).toEqual([]);
  });

  it("is over when its time is, and forgotten when its tombstone's is", async () => {
    const { register, clock } = await open();
    await register.add(contract("syn-1"));
    clock.now = HOUR;
    expect(register.present("syn-1", "alice").kind).toBe("over");
    expect(register.find("syn-1")?.state).toBe("expired");
    clock.now = 2 * HOUR + 1;
    expect(register.present("syn-1", "alice").kind).toBe("unknown");
  });

  it("is as if it had never been once it is evicted", async () => {
    const { register } = await open();
    await register.add(contract("syn-1"));
    await register.evict(["syn-1"]);
    expect(register.present("syn-1", "alice").kind).toBe("unknown");
  });

  it("says of none that it is evicted before that holds on every node", async () => {
    const memory = createMemoryStore();
    const awaited: number[] = [];
    let go: () => void = () => undefined;
    const store = alterStore(memory, {
      everywhere: (revision) => {
        awaited.push(revision);
        return new Promise((resolve) => {
          go = resolve;
        });
      },
    });
    const { register } = await open(store);
    const adding = register.add(contract("syn-1"));
    await vi.waitFor(() => expect(awaited).toHaveLength(1), PATIENCE);
    go();
    await adding;
    let isAnswered = false;
    const evicting = register.evict(["syn-1"]).then(() => {
      isAnswered = true;
    });
    await vi.waitFor(() => expect(awaited).toHaveLength(2), PATIENCE);
    expect(isAnswered).toBe(false);
    expect(awaited[1]).toBe((await memory.changes(0)).upTo);
    go();
    await evicting;
  });

  it("lists the newest of an agent first, and gives all in their order", async () => {
    const { register } = await open();
    await register.add(contract("syn-1"));
    await register.add(contract("syn-2", { agentId: "bob", issuedAt: 1 }));
    await register.add(contract("syn-3", { issuedAt: 2 }));
    const ids = (contracts: Iterable<Contract>) =>
      Array.from(contracts, ({ synthesisId }) => synthesisId);
    expect(ids(register.active("alice"))).toEqual(["syn-3", "syn-1"]);
    expect(ids(register.eachOpen())).toEqual(["syn-1", "syn-2", "syn-3"]);
  });

  // AGTP-API §10.1.1
  it("finds the newest that is active for a pair, by its path or by its template", async () => {
    const { register, clock } = await open();
    const at = (path: string, changes: Partial<Contract> = {}): Partial<Contract> => ({
      ...changes,
      endpoint: { ...contract("").endpoint, path },
    });
    await register.add(contract("syn-1", at("/suite")));
    await register.add(contract("syn-2", at("/{kind}", { issuedAt: 1 })));
    await register.add(contract("syn-3", at("/suite", { issuedAt: 2, expiresAt: 10 })));
    await register.add(contract("syn-4", at("/suite", { issuedAt: 3, state: "offered" })));
    await register.add(contract("syn-5", at("/suite", { issuedAt: 4, agentId: "bob" })));
    await register.add(contract("syn-6", at("/a{b", { issuedAt: 5 })));
    const found = (path: string, method = "BOOK") =>
      register.activeFor("alice", { method, path })?.synthesisId;
    expect(found("/suite")).toBe("syn-3");
    expect(found("/other")).toBe("syn-2");
    expect(found("/a{b")).toBe("syn-6");
    expect([found("/suite", "QUERY"), found("/suite/1"), found("/{kind}/1")]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    clock.now = 10;
    expect(found("/suite")).toBe("syn-2");
    await register.change("syn-2", "revoked");
    expect(found("/suite")).toBe("syn-1");
  });

  it("survives the process, in whatever state it was", async () => {
    const { register, store } = await open();
    await register.add(contract("syn-1", { state: "offered" }));
    await register.add(contract("syn-2"));
    await register.change("syn-2", "revoked", "leaked");
    await register.add(contract("syn-3"));
    await register.evict(["syn-3"]);
    const again = await open(store);
    expect(again.register.find("syn-1")?.state).toBe("offered");
    expect(again.register.find("syn-2")).toMatchObject({ state: "revoked", reason: "leaked" });
    expect(again.register.find("syn-3")).toBeUndefined();
  });

  it("keeps a bounded number for each agent: what is over goes first, then offers", async () => {
    const { register, store } = await open();
    await register.add(contract("active"));
    await register.add(contract("offered", { state: "offered" }));
    await register.add(contract("released", { state: "released" }));
    for (let count = 0; count < 997; count += 1) await register.add(contract(`syn-${count}`));
    await register.add(contract("one more"));
    expect(register.find("released")).toBeUndefined();
    await register.add(contract("two more"));
    expect(register.find("offered")).toBeUndefined();
    expect(register.find("active")).toBeDefined();
    expect(await store.list("contracts")).toHaveLength(1_000);
  });

  it("keeps a bounded amount for each agent, in the store as well", async () => {
    const { register, store } = await open();
    const { endpoint } = contract("x");
    const large = { endpoint: { ...endpoint, description: "x".repeat(1_048_576) } };
    await register.add(contract("bob's", { ...large, agentId: "bob" }));
    for (let count = 0; count < 20; count += 1) await register.add(contract(`syn-${count}`, large));
    expect(register.active("alice").length).toBe(15);
    expect(register.find("syn-4")).toBeUndefined();
    expect(register.find("syn-5")).toBeDefined();
    expect(register.find("bob's")).toBeDefined();
    expect(await store.list("contracts")).toHaveLength(16);
  });

  it("makes room with what a session may do without before what was asked to be kept", async () => {
    const { register } = await open();
    await register.add(contract("kept", { isPersistent: true }));
    for (let count = 0; count < 1_000; count += 1) await register.add(contract(`syn-${count}`));
    expect(register.find("kept")).toBeDefined();
    expect(register.find("syn-0")).toBeUndefined();
  });

  it("loses nothing to a contract that cannot be kept, and holds its bounds among many at once", async () => {
    const { register, store } = await open();
    for (let count = 0; count < 1_000; count += 1) await register.add(contract(`syn-${count}`));
    const commit = store.commit.bind(store);
    store.commit = () => Promise.reject(new Error("the disk is full"));
    await expect(register.add(contract("late"))).rejects.toThrow("the disk is full");
    expect(register.find("late")).toBeUndefined();
    expect(register.find("syn-0")).toBeDefined();
    store.commit = commit;
    await Promise.all([..."abcdef"].map((name) => register.add(contract(name))));
    await register.add(contract("last"));
    expect(await store.list("contracts")).toHaveLength(1_000);
    expect(register.find("f")).toBeDefined();
  });

  it("forgets tombstones while it runs", async () => {
    const { register, clock, store } = await open();
    await register.add(contract("syn-1"));
    clock.now = 2 * HOUR + 1;
    expect(register.present("syn-1", "alice").kind).toBe("unknown");
    await register.add(contract("syn-2", { expiresAt: 9 * HOUR }));
    expect(register.find("syn-1")).toBeUndefined();
    expect((await store.list("contracts")).map(({ key }) => key)).toEqual(["syn-2"]);
  });

  it("is usable until its last millisecond, and not at its expiry", async () => {
    const { register, clock } = await open();
    await register.add(contract("syn-1"));
    clock.now = HOUR - 1;
    expect(register.present("syn-1", "alice").kind).toBe("usable");
    clock.now = HOUR;
    expect(register.present("syn-1", "alice").kind).toBe("over");
    expect(register.active("alice")).toEqual([]);
  });

  it("skips what it cannot have stored", async () => {
    const store = createMemoryStore();
    await store.commit([{ kind: "put", collection: "contracts", key: "x", value: { a: 1 } }]);
    expect((await open(store)).register.find("x")).toBeUndefined();
  });
});
