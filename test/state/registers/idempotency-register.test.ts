import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import {
  type Claim,
  type IdempotencyOptions,
  IdempotencyRegister,
} from "../../../src/state/registers/idempotency-register.ts";
import type { IdempotentExecution } from "../../../src/state/registers/idempotent-execution.ts";
import type { KeptResponse } from "../../../src/state/registers/kept-response.ts";
import type { Store } from "../../../src/state/store.ts";
import { makeDirectory } from "../../support/directory.ts";
import { makeLastingStore, openTestState } from "../../support/state.ts";
import { alterStore } from "../../support/store.ts";

const ALICE = "a".repeat(64);
const BOB = "b".repeat(64);
const DAY_MS = 24 * 3_600_000;
const RESPONSE: KeptResponse = { status: 200, contentType: "text/plain", text: "done" };

type Limits = NonNullable<IdempotencyOptions["limits"]>;

/** A register over a store, and a clock that the test sets. */
async function open(limits: Limits = {}, store: Store = createMemoryStore()) {
  const clock = { now: 1_000 };
  const options = { limits, now: () => clock.now };
  const register = await IdempotencyRegister.open(store, options);
  const claim = (key: string, agentId = ALICE, fingerprint = "f") =>
    register.claim({ agentId, key, fingerprint });
  return {
    ...{ store, clock, claim },
    reopen: () => open(limits, store),
    /** Executes a request under a key, unless it was. */
    async run(key: string, agentId = ALICE, response = RESPONSE): Promise<string> {
      const claimed = claim(key, agentId);
      if (claimed.kind !== "claimed") return claimed.kind;
      await claimed.execution.begin();
      await claimed.execution.answer(response);
      return "executed";
    },
    /** What is kept under a key that was answered. */
    async kept(key: string, agentId = ALICE): Promise<KeptResponse | undefined> {
      const answered = claim(key, agentId);
      if (answered.kind !== "answered") throw new Error(`the key is ${answered.kind}`);
      return answered.response;
    },
  };
}

function claimed(claim: Claim): IdempotentExecution {
  if (claim.kind !== "claimed") throw new Error(`the key is ${claim.kind}`);
  return claim.execution;
}

/** A store whose next commits fail. */
function breakable(): { readonly store: Store; isBroken: boolean } {
  const memory = createMemoryStore();
  const state: ReturnType<typeof breakable> = {
    isBroken: false,
    store: alterStore(memory, {
      commit: (...args) =>
        state.isBroken ? Promise.reject(new Error("disk full")) : memory.commit(...args),
    }),
  };
  return state;
}

/** Of a caller that stays. */
function staying(): AbortSignal {
  return new AbortController().signal;
}

async function countOf(store: Store): Promise<readonly [keys: number, responses: number]> {
  const keys = await store.list("idempotency");
  const responses = await store.list("idempotency-responses");
  return [keys.length, responses.length];
}

// AGTP-API §10.1.5
describe("IdempotencyRegister", () => {
  it("gives a key to the first request, and its response to the same one later", async () => {
    const { run, kept } = await open();
    expect(await run("k")).toBe("executed");
    expect(await run("k")).toBe("answered");
    expect(await kept("k")).toEqual(RESPONSE);
  });

  it("keeps a key from every other request", async () => {
    const { run, claim } = await open();
    await run("k");
    expect(claim("k", ALICE, "other").kind).toBe("taken");
    const running = claim("running");
    expect(running.kind).toBe("claimed");
    expect(claim("running", ALICE, "other").kind).toBe("taken");
  });

  it("keeps the keys of two agents apart", async () => {
    const { run } = await open();
    expect(await run("k", ALICE)).toBe("executed");
    expect(await run("k", BOB)).toBe("executed");
    // The name of one key is not the beginning of another's.
    expect(await run(`${BOB}/k`, ALICE)).toBe("executed");
  });

  it("has a response after it was opened again", async () => {
    const first = await open();
    await first.run("k");
    const second = await first.reopen();
    expect(await second.kept("k")).toEqual(RESPONSE);
    expect(second.claim("k", ALICE, "other").kind).toBe("taken");
  });

  it("says of what was begun by another process that its outcome is not known", async () => {
    const first = await open();
    await claimed(first.claim("k")).begin();
    const second = await first.reopen();
    expect(second.claim("k").kind).toBe("unknown");
    expect(second.claim("k", ALICE, "other").kind).toBe("taken");
    const third = await second.reopen();
    expect(third.claim("k").kind).toBe("unknown");
  });

  it("lets one of two that claim a key at once over one store begin", async () => {
    const first = await open();
    const second = await first.reopen();
    const executions = [first, second].map(({ claim }) => claimed(claim("k")));
    const begun = await Promise.all(executions.map((execution) => execution.begin()));
    expect(begun).toEqual([true, false]);
    await executions[0]?.answer(RESPONSE);
    // It is another process's, and what this one has seen of it is its beginning.
    expect(second.claim("k").kind).toBe("unknown");
    expect(await first.kept("k")).toEqual(RESPONSE);
  });

  it("has nothing of what was never begun", async () => {
    const first = await open();
    first.claim("k");
    expect((await first.reopen()).claim("k").kind).toBe("claimed");
  });

  it("frees a key under which nothing was done", async () => {
    const { claim, store } = await open();
    const execution = claimed(claim("k"));
    await execution.begin();
    await execution.release();
    expect(claim("k").kind).toBe("claimed");
    expect(await countOf(store)).toEqual([0, 0]);
  });

  it("does not execute again what was left in the middle", async () => {
    const { claim, reopen } = await open();
    const execution = claimed(claim("k"));
    await execution.begin();
    execution.abandon();
    expect(claim("k").kind).toBe("unknown");
    expect((await reopen()).claim("k").kind).toBe("unknown");
  });

  it("remembers that a request was answered whose response is too large", async () => {
    const { run, claim, kept, reopen } = await open();
    await run("k", ALICE, { ...RESPONSE, text: "x".repeat(256 * 1024 + 1) });
    expect(claim("k")).toMatchObject({ kind: "answered", status: 200 });
    expect(await kept("k")).toBeUndefined();
    expect(await (await reopen()).kept("k")).toBeUndefined();
  });

  it("takes an entry that somebody else damaged for none", async () => {
    const { store, reopen, run } = await open();
    await run("k");
    await store.commit([
      { kind: "put", collection: "idempotency", key: `${ALICE}/broken`, value: { at: "never" } },
      {
        kind: "put",
        collection: "idempotency-responses",
        key: `${ALICE}/k`,
        value: { status: "x" },
      },
    ]);
    const { claim, kept } = await reopen();
    expect(await kept("k")).toBeUndefined();
    expect(claim("broken").kind).toBe("claimed");
  });
});

describe("a key of the IdempotencyRegister", () => {
  it("is free again after a day", async () => {
    const { run, clock } = await open();
    await run("k");
    clock.now += DAY_MS - 1;
    expect(await run("k")).toBe("answered");
    clock.now += 1;
    expect(await run("k")).toBe("executed");
    clock.now += DAY_MS - 1;
    expect(await run("k")).toBe("answered");
  });

  it("is not free again earlier because the clock was behind when it was taken", async () => {
    const clock = { now: 10 * DAY_MS };
    const time = vi.spyOn(Date, "now").mockImplementation(() => clock.now);
    onTestFinished(() => time.mockRestore());
    const state = await openTestState(makeDirectory(), makeLastingStore());
    onTestFinished(() => state.close());
    state.clock.now();
    clock.now -= DAY_MS - 1_000;
    const claim = () => state.idempotency.claim({ agentId: ALICE, key: "k", fingerprint: "f" });
    const execution = claimed(claim());
    await execution.begin();
    await execution.answer(RESPONSE);
    clock.now += DAY_MS + 1_000;
    expect(claim().kind).toBe("answered");
  });

  it("does not expire while its request runs", async () => {
    const { claim, clock, run } = await open();
    const execution = claimed(claim("k"));
    clock.now += DAY_MS;
    expect(await run("other")).toBe("executed");
    expect(claim("k").kind).toBe("running");
    await execution.begin();
    await execution.answer(RESPONSE);
    expect(claim("k").kind).toBe("claimed");
  });

  it("goes from the store when it has expired, with the next request of anybody", async () => {
    const { store, clock, run } = await open();
    for (const key of ["one", "two", "three"]) await run(key);
    clock.now += DAY_MS;
    await run("k", BOB);
    expect(await countOf(store)).toEqual([1, 1]);
  });

  it("goes from the store when it has expired, when that is opened", async () => {
    const { store, run } = await open();
    for (const key of ["one", "two", "three"]) await run(key);
    await IdempotencyRegister.open(store, { now: () => 2_000 + DAY_MS });
    expect(await countOf(store)).toEqual([0, 0]);
  });
});

describe("the bounds of the IdempotencyRegister", () => {
  it("cost an agent its own oldest key", async () => {
    const { run, store } = await open({ keysPerAgent: 2 });
    await run("theirs", BOB);
    for (const key of ["one", "two", "three"]) await run(key);
    expect(await countOf(store)).toEqual([3, 3]);
    expect(await run("theirs", BOB)).toBe("answered");
    expect(await run("two")).toBe("answered");
    expect(await run("one")).toBe("executed");
  });

  it("cost whoever has most a key when all agents have too many", async () => {
    const { run, store } = await open({ keys: 4 });
    await run("theirs", BOB);
    for (const key of ["one", "two", "three", "four"]) await run(key);
    expect(await countOf(store)).toEqual([4, 4]);
    await run("also theirs", BOB);
    expect(await run("theirs", BOB)).toBe("answered");
    expect(await run("three")).toBe("answered");
  });

  it("never end what runs", async () => {
    const { claim } = await open({ keysPerAgent: 1 });
    const executions = ["one", "two", "three"].map((key) => claimed(claim(key)));
    expect(claim("one").kind).toBe("running");
    for (const execution of executions) await execution.begin();
    for (const execution of executions) await execution.answer(RESPONSE);
    claim("four");
    expect(["one", "two", "three"].map((key) => claim(key).kind)).not.toContain("running");
  });

  it("cost what was answered before what another process executes", async () => {
    const { claim, store } = await open({ keysPerAgent: 2 });
    const execution = claimed(claim("one"));
    await execution.begin();
    const other = await open({ keysPerAgent: 2 }, store);
    for (const key of ["two", "three", "four"]) await other.run(key);
    expect(other.claim("one").kind).toBe("unknown");
    await execution.answer(RESPONSE);
    const next = await open({ keysPerAgent: 2 }, store);
    expect(next.claim("one").kind).toBe("answered");
  });

  it("leave a key that made room to the request that was begun under it since", async () => {
    for (const end of ["answer", "release"] as const) {
      const { claim, store } = await open({ keysPerAgent: 1 });
      const former = claimed(claim("k"));
      await former.begin();
      const other = await open({ keysPerAgent: 1 }, store);
      await other.run("l");
      const latter = claimed(other.claim("k", ALICE, "g"));
      expect(await latter.begin()).toBe(true);
      await former[end](RESPONSE);
      const { claim: ask } = await open({ keysPerAgent: 1 }, store);
      expect([ask("k", ALICE, "g").kind, ask("k").kind]).toEqual(["unknown", "taken"]);
    }
  });

  it("cost an agent its oldest response, and not the key", async () => {
    const { run, kept, store } = await open({ bytesPerAgent: 250 });
    const large = { ...RESPONSE, text: "x".repeat(50) };
    await run("theirs", BOB, large);
    for (const key of ["one", "two", "three"]) await run(key, ALICE, large);
    expect(await countOf(store)).toEqual([4, 3]);
    expect(await kept("one")).toBeUndefined();
    expect(await kept("two")).toEqual(large);
    expect(await kept("theirs", BOB)).toEqual(large);
  });

  it("cost whoever has most a response when all agents have too much", async () => {
    const { run, kept } = await open({ bytes: 350 });
    const large = { ...RESPONSE, text: "x".repeat(50) };
    await run("theirs", BOB, large);
    for (const key of ["one", "two", "three"]) await run(key, ALICE, large);
    expect(await kept("theirs", BOB)).toEqual(large);
    expect(await kept("one")).toBeUndefined();
  });

  it("hold with the next key after the store is opened with lower ones", async () => {
    const { run, store, clock } = await open();
    for (const key of ["one", "two", "three"]) {
      clock.now += 1;
      await run(key);
    }
    const { run: runAgain, claim } = await open({ keysPerAgent: 2 }, store);
    await runAgain("four");
    expect(await countOf(store)).toEqual([2, 2]);
    expect(claim("three").kind).toBe("answered");
  });
});

describe("whoever asks while a request runs", () => {
  it("gets its response, and the next one too", async () => {
    const { claim } = await open();
    const execution = claimed(claim("k"));
    const duplicate = claim("k");
    if (duplicate.kind !== "running") throw new Error(`the key is ${duplicate.kind}`);
    const outcomes = Promise.all([
      duplicate.execution.wait(staying()),
      duplicate.execution.wait(staying()),
    ]);
    await execution.begin();
    await execution.answer(RESPONSE);
    const answered = { kind: "answered", response: RESPONSE };
    expect(await outcomes).toEqual([answered, answered]);
    expect(claim("k").kind).toBe("answered");
  });

  it("learns that it was released or abandoned", async () => {
    const { claim } = await open();
    const [first, second, third] = ["one", "two", "three"].map((key) => claimed(claim(key)));
    const outcomes = [first, second, third].map((execution) => execution?.wait(staying()));
    await first?.release();
    await second?.release(RESPONSE);
    third?.abandon();
    expect(await Promise.all(outcomes)).toEqual([
      { kind: "not-begun" },
      { kind: "answered", response: RESPONSE },
      { kind: "unknown" },
    ]);
  });

  it("learns that another process has the key, which has its answer then", async () => {
    const first = await open();
    const second = await first.reopen();
    expect(await first.run("k")).toBe("executed");
    // It has heard of nothing yet.
    const execution = claimed(second.claim("k"));
    const duplicate = second.claim("k");
    if (duplicate.kind !== "running") throw new Error(`the key is ${duplicate.kind}`);
    const outcome = duplicate.execution.wait(staying());
    expect(await execution.begin()).toBe(false);
    expect(await outcome).toEqual({ kind: "elsewhere" });
    expect(await second.kept("k")).toEqual(RESPONSE);
  });

  it("is one of a bounded number, in which whoever leaves makes room", async () => {
    const { claim } = await open();
    const execution = claimed(claim("k"));
    const leaving = new AbortController();
    const first = execution.wait(leaving.signal);
    const others = Array.from({ length: 255 }, () => execution.wait(staying()));
    expect(await execution.wait(staying())).toBeUndefined();
    leaving.abort();
    expect(await first).toBeUndefined();
    const late = execution.wait(staying());
    await execution.answer(RESPONSE);
    expect(await late).toMatchObject({ kind: "answered" });
    expect(await Promise.all(others)).toHaveLength(255);
  });

  it("does not wait when it has left already", async () => {
    const { claim } = await open();
    expect(await claimed(claim("k")).wait(AbortSignal.abort())).toBeUndefined();
  });
});

describe("a store that fails", () => {
  it("before a request is begun leaves the key free", async () => {
    const disk = breakable();
    const { claim } = await open({}, disk.store);
    disk.isBroken = true;
    const execution = claimed(claim("k"));
    const waiting = execution.wait(staying());
    await expect(execution.begin()).rejects.toThrow("disk full");
    await expect(waiting).rejects.toThrow("disk full");
    expect(claim("k").kind).toBe("claimed");
  });

  it("after a request was executed leaves the key taken, and whoever waits its response", async () => {
    const disk = breakable();
    const { claim, reopen } = await open({}, disk.store);
    const execution = claimed(claim("k"));
    await execution.begin();
    const waiting = execution.wait(staying());
    disk.isBroken = true;
    await expect(execution.answer(RESPONSE)).rejects.toThrow("disk full");
    expect(await waiting).toEqual({ kind: "answered", response: RESPONSE });
    expect(claim("k").kind).toBe("unknown");
    disk.isBroken = false;
    expect((await reopen()).claim("k").kind).toBe("unknown");
  });
});
