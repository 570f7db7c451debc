/**
 * Workers and their parent over streams that deliver a few octets at a time, in whatever turns: each seals records, adds
 * entries and counts, hears of the others late, and is killed between any two octets of what it says, while the journal
 * fails now and then. What was acknowledged is there, once and in order; what was not is there once or not at all; and
 * whoever lives has an answer to everything that it asked.
 */
import { Duplex } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { expect, it } from "vitest";
import { Link, LinkGoneError } from "../../src/base/link.ts";
import { Collection } from "../../src/state/collection.ts";
import { createMemoryJournal, type Journal } from "../../src/state/journal/journal.ts";
import { createMemoryStore } from "../../src/state/memory-store.ts";
import { Attributor, Ledger } from "../../src/state/records/ledger.ts";
import { createJournalStore } from "../../src/state/records/record-store.ts";
import { createRecordSigner, createSealer } from "../../src/state/records/sealer.ts";
import { STORE_FAULTS } from "../../src/state/sharing/link-faults.ts";
import { ParentNode } from "../../src/state/sharing/parent-node.ts";
import { ParentRecords } from "../../src/state/sharing/parent-records.ts";
import { ParentStore } from "../../src/state/sharing/parent-store.ts";
import { SealedChains } from "../../src/state/sharing/sealed-chains.ts";
import { type Joined, SharedState } from "../../src/state/sharing/shared-state.ts";
import { PATIENCE } from "../support/patience.ts";
import { readJws, walkChain } from "../support/records.ts";
import { makeFacts } from "../support/state.ts";

const AGENTS = ["a", "b"].map((one) => one.repeat(64));
const WORKERS = [0, 1] as const;
/** Nobody waits for it: who is gone is known to be. */
const LEASE_MS = 60_000;

type Step =
  | { readonly kind: "record"; readonly at: number; readonly agent: number; readonly count: number }
  | { readonly kind: "add" | "count" | "tell"; readonly at: number }
  /** So many octets arrive, of what a worker or its parent has said. */
  | {
      readonly kind: "deliver";
      readonly at: number;
      readonly isUp: boolean;
      readonly octets: number;
    }
  /** A worker is killed when so many octets more have left it. */
  | { readonly kind: "kill"; readonly at: number; readonly octets: number }
  | { readonly kind: "fail" | "settle" };

const at = fc.constantFrom(...WORKERS);
const octets = fc.oneof(fc.integer({ min: 1, max: 600 }), fc.constant(1_000_000));
const STEP: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      ...{ kind: fc.constant("record" as const), at, agent: fc.nat(AGENTS.length - 1) },
      count: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constantFrom("add" as const, "count", "tell"), at }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      ...{ kind: fc.constant("deliver" as const), at, isUp: fc.boolean(), octets },
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("kill" as const), at, octets }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("fail" as const, "settle") }) },
);

/** One end of a stream, whose octets wait until they are delivered. */
class End extends Duplex {
  other: End | undefined;
  #waiting = Buffer.alloc(0);

  override _read(): void {
    // Pushed when octets are delivered.
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.#waiting = Buffer.concat([this.#waiting, chunk]);
    done();
  }

  /** Lets so many octets arrive at the other end; answers that there were any. */
  deliver(count: number): boolean {
    const some = this.#waiting.subarray(0, count);
    this.#waiting = this.#waiting.subarray(count);
    if (some.length > 0) this.other?.push(Buffer.from(some));
    return some.length > 0;
  }

  /** The process at this end is killed behind so many octets of what it has said. */
  kill(count: number): void {
    this.deliver(count);
    this.#waiting = Buffer.alloc(0);
    this.other?.push(null);
    this.destroy();
  }
}

/** A worker, as long as it lives. */
interface Worker {
  readonly near: End;
  readonly far: End;
  readonly node: ParentNode;
  readonly items: Collection<number>;
  readonly attributor: Attributor;
  readonly ledger: Ledger;
  readonly served: Promise<void>;
  isAlive: boolean;
}

/** A record that a worker was told is kept, and those that were told of before it was begun. */
interface Acknowledged {
  readonly agentId: string;
  readonly auditId: string;
  readonly behind: ReadonlySet<string>;
}

class World {
  readonly #journal = createMemoryJournal();
  readonly #store = createMemoryStore();
  readonly #shared: SharedState;
  readonly #workers: (Worker | undefined)[] = [];
  #failsNext = false;
  readonly #acknowledged: Acknowledged[] = [];
  readonly #added = new Set<string>();
  readonly #counted = { asked: 0, acknowledged: 0 };
  /** What live workers wait for. */
  readonly #open = new Map<Promise<unknown>, Worker>();
  readonly #drafts = new Set<string>();
  #names = 0;
  readonly wrong: string[] = [];

  constructor() {
    const journal: Journal = {
      ...this.#journal,
      write: (...args) => {
        if (this.#failsNext) {
          this.#failsNext = false;
          throw new Error("the disk is full");
        }
        return this.#journal.write(...args);
      },
    };
    const chains = new SealedChains(createJournalStore(journal), new Map());
    this.#shared = new SharedState({ store: this.#store, chains, leaseMs: LEASE_MS });
  }

  async start(): Promise<void> {
    await this.#store.commit([{ kind: "put", collection: "items", key: "count", value: 1 }]);
    for (const at of WORKERS) this.#workers[at] = await this.#begin(at);
  }

  async #begin(at: number): Promise<Worker> {
    const [near, far] = [new End(), new End()];
    near.other = far;
    far.other = near;
    const link = new Link(near, STORE_FAULTS);
    const served = this.#shared.serve(new Link(far, STORE_FAULTS), `node-${at}`);
    const begun = (async () => {
      const joined = await link.ask<Joined>("join");
      const store = new ParentStore(link);
      const node = new ParentNode({ link, store, joined });
      const records = new ParentRecords(link, () => node.checkLease());
      const ledger = new Ledger(records, new Map(joined.heads), () => undefined);
      const sealer = createSealer(createRecordSigner());
      const attributor = new Attributor({ serverId: "agents.example", sealer, ledger });
      const items = await Collection.open<number>(store, {
        name: "items",
        read: (value) => (typeof value === "number" ? value : undefined),
      });
      link.serve({ save: () => undefined });
      await node.start();
      link.tell("serving");
      return { near, far, node, items, attributor, ledger, served, isAlive: true };
    })();
    let isDone = false;
    const done = begun.finally(() => {
      isDone = true;
    });
    while (!isDone) {
      this.#deliverAll([near, far]);
      await nextTurn();
    }
    return done;
  }

  async run(step: Step): Promise<void> {
    switch (step.kind) {
      case "fail":
        this.#failsNext = true;
        return;
      case "settle":
        return this.settle();
      case "kill":
        return this.#kill(step.at, step.octets);
    }
    const worker = this.#workers[step.at];
    if (worker === undefined) return;
    switch (step.kind) {
      case "deliver":
        (step.isUp ? worker.near : worker.far).deliver(step.octets);
        break;
      case "record":
        this.#wait(worker, this.#record(worker, AGENTS[step.agent] ?? "", step.count));
        break;
      case "add":
        this.#wait(worker, this.#add(worker));
        break;
      case "tell":
        this.#wait(worker, this.#tell(worker));
        break;
      case "count":
        this.#wait(worker, this.#count(worker));
    }
    await nextTurn();
  }

  #wait(worker: Worker, work: Promise<void>): void {
    this.#open.set(work, worker);
    work.then(
      () => this.#open.delete(work),
      (error: unknown) => {
        this.#open.delete(work);
        const isExpected = error instanceof LinkGoneError || String(error).includes("disk is full");
        if (worker.isAlive && !isExpected) this.wrong.push(String(error));
        if (worker.isAlive && error instanceof LinkGoneError)
          this.wrong.push("it lives, and is gone");
      },
    );
  }

  async #record(worker: Worker, agentId: string, count: number): Promise<void> {
    const behind = new Set(
      this.#acknowledged.filter((one) => one.agentId === agentId).map(({ auditId }) => auditId),
    );
    const drafts = Array.from({ length: count }, () => {
      this.#names += 1;
      const responseId = `res-${this.#names}`;
      this.#drafts.add(responseId);
      return worker.attributor.chained(makeFacts(agentId, { responseId }));
    });
    await worker.ledger.settled();
    // A process that is gone tells nobody.
    if (!worker.isAlive) return;
    for (const { auditId } of drafts) this.#acknowledged.push({ agentId, auditId, behind });
  }

  async #add(worker: Worker): Promise<void> {
    this.#names += 1;
    const key = `item-${this.#names}`;
    const addition = await worker.items.add(key, this.#names);
    if (!worker.isAlive) return;
    if (addition.kind !== "added") this.wrong.push(`${key} is ${addition.kind}`);
    this.#added.add(key);
  }

  /** What was added and holds everywhere is seen by every worker that serves. */
  async #tell(worker: Worker): Promise<void> {
    this.#names += 1;
    const key = `item-${this.#names}`;
    await worker.items.put(key, this.#names);
    await worker.items.everywhere(key);
    if (!worker.isAlive) return;
    this.#added.add(key);
    for (const other of this.#workers) {
      if (other?.node.isFresh === true && other.items.get(key) === undefined) {
        this.wrong.push(`${key} is not everywhere`);
      }
    }
  }

  async #count(worker: Worker): Promise<void> {
    this.#counted.asked += 1;
    await worker.items.change("count", (count) => count + 1);
    if (worker.isAlive) this.#counted.acknowledged += 1;
  }

  async #kill(at: number, count: number): Promise<void> {
    const worker = this.#workers[at];
    if (worker === undefined) return;
    worker.isAlive = false;
    worker.near.kill(count);
    await worker.node.close();
    await worker.served;
    this.#workers[at] = await this.#begin(at);
  }

  #deliverAll(ends: readonly End[]): boolean {
    return ends.map((end) => end.deliver(Number.POSITIVE_INFINITY)).includes(true);
  }

  get #ends(): readonly End[] {
    return this.#workers.flatMap((one) => (one === undefined ? [] : [one.near, one.far]));
  }

  /** Everything arrives; nobody who lives waits for anything afterwards. */
  async settle(): Promise<void> {
    const until = performance.now() + PATIENCE.timeout;
    for (let idle = 0; idle < 3; ) {
      const isMoving = this.#deliverAll(this.#ends);
      await nextTurn();
      const isWaited = [...this.#open.values()].some(({ isAlive }) => isAlive);
      idle = isMoving || isWaited ? 0 : idle + 1;
      if (performance.now() > until) throw new Error("somebody waits for ever");
    }
  }

  async check(): Promise<void> {
    await this.settle();
    const records = this.#journal.records().map(readJws);
    const seen = new Set<string>();
    for (const agentId of AGENTS) {
      const chain = walkChain(records, agentId);
      const places = new Map(chain.map(({ auditId }, place) => [auditId, place]));
      for (const { payload } of chain) {
        const name = String(payload["response_id"]);
        if (!this.#drafts.has(name)) this.wrong.push(`nobody drafted ${name}`);
        if (seen.has(name)) this.wrong.push(`${name} is kept twice`);
        seen.add(name);
      }
      for (const one of this.#acknowledged) {
        if (one.agentId !== agentId) continue;
        const place = places.get(one.auditId);
        if (place === undefined) this.wrong.push(`${one.auditId} is lost`);
        for (const before of one.behind) {
          if ((places.get(before) ?? 0) >= (place ?? 0)) this.wrong.push("it comes too soon");
        }
      }
    }
    if (seen.size !== records.length) this.wrong.push("records are in no chain");
    await this.#checkItems();
    for (const end of this.#ends) end.destroy();
    await Promise.all(this.#workers.map((one) => one?.served));
    await Promise.all(this.#workers.map((one) => one?.node.close()));
  }

  async #checkItems(): Promise<void> {
    const kept = new Map((await this.#store.list("items")).map(({ key, value }) => [key, value]));
    for (const key of this.#added) if (!kept.has(key)) this.wrong.push(`${key} is lost`);
    const count = Number(kept.get("count")) - 1;
    const { asked, acknowledged } = this.#counted;
    if (count < acknowledged || count > asked) {
      this.wrong.push(`${count} of ${asked}, ${acknowledged} acknowledged`);
    }
    for (const worker of this.#workers) {
      if (worker === undefined) continue;
      // It waits for half a second at most, which a busy machine may take for anything.
      for (let isCaughtUp = false; !isCaughtUp; ) {
        const caught = worker.node.catchUp().then(
          () => true,
          () => false,
        );
        this.#wait(
          worker,
          caught.then(() => undefined),
        );
        await this.settle();
        isCaughtUp = await caught;
      }
      const seen = new Map([...kept.keys()].map((key) => [key, worker.items.get(key)]));
      expect([seen, worker.items.size]).toEqual([kept, kept.size]);
    }
    const saved = this.#shared.save();
    await this.settle();
    await saved;
  }
}

// docs/workers.md
it("keeps what workers were told is kept, whatever comes over their streams, and when", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { maxLength: 60, size: "max" }), async (steps) => {
      const world = new World();
      await world.start();
      for (const step of steps) await world.run(step);
      await world.check();
      expect(world.wrong).toEqual([]);
    }),
    { numRuns: 150 },
  );
}, 300_000);
