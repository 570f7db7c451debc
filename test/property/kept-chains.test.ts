/**
 * A deployment's chains through whatever may happen to its files: processes that are killed, records that retention takes
 * away, a store that is lost or an older copy, half a line at the end of the journal, and moves by export and import. Every
 * chain goes on behind its last record, verifies, and counts all that was ever in it; and an agent stands where it stood.
 */
import {
  appendFileSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { readLastCut } from "../../src/state/journal/cut-file.ts";
import { verifyJournalChain } from "../../src/state/journal/journal-chain.ts";
import { repairJournal } from "../../src/state/journal/repair-journal.ts";
import { listSegments, segmentName } from "../../src/state/journal/segment.ts";
import { createMemoryStore } from "../../src/state/memory-store.ts";
import { importState } from "../../src/state/moving/import-state.ts";
import { Attributor } from "../../src/state/records/ledger.ts";
import { createRecordSigner, createSealer } from "../../src/state/records/sealer.ts";
import { openState, type ServerState } from "../../src/state/state.ts";
import type { Durability } from "../../src/state/state-sections.ts";
import { readAll, type Store } from "../../src/state/store.ts";
import { makeKeyPair } from "../support/attribution-chain.ts";
import { makeDirectory } from "../support/directory.ts";
import { makeFacts } from "../support/state.ts";
import { alterStore } from "../support/store.ts";

const { privateKey, publicKey } = makeKeyPair();
const signer = createRecordSigner(privateKey);
const serverId = "agents.example";
const AGENTS = ["a", "b", "c"].map((one) => one.repeat(64));

type Step =
  | { readonly kind: "append"; readonly agent: number; readonly count: number }
  | { readonly kind: "stand"; readonly agent: number; readonly isActive: boolean }
  /** With `steps`, the process is killed behind so many of a cut. */
  | {
      readonly kind: "retain";
      readonly bytes: number;
      readonly isArchived: boolean;
      readonly steps: number | undefined;
    }
  /** The last lines of the newest segment that has any, and is not cut, are gone, or are no records any more. */
  | { readonly kind: "damage"; readonly lines: number; readonly isGone: boolean }
  | { readonly kind: Incident };

/** An event of the files, or of the process. */
type Incident = (typeof INCIDENTS)[number];
const INCIDENTS = [
  ...(["stop", "kill", "lose-store", "keep-copy", "put-copy", "move"] as const),
  ...(["tear", "tear-cuts", "lose-derived", "change-durability"] as const),
] as const;

const AGENT = fc.nat(AGENTS.length - 1);
const STEP: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      ...{
        kind: fc.constant("append" as const),
        agent: AGENT,
        count: fc.integer({ min: 1, max: 9 }),
      },
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      ...{ kind: fc.constant("stand" as const), agent: AGENT, isActive: fc.boolean() },
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      ...{ kind: fc.constant("retain" as const), bytes: fc.constantFrom(1, 3_000, 6_000) },
      isArchived: fc.boolean(),
      steps: fc.option(fc.integer({ min: 1, max: 14 }), { nil: undefined }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      ...{ kind: fc.constant("damage" as const), lines: fc.integer({ min: 1, max: 5 }) },
      isGone: fc.boolean(),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.constantFrom(...INCIDENTS).map((kind) => ({ kind })),
  },
);

/** The entries of a store, in another. */
async function copyOf(store: Store): Promise<Store> {
  const copy = createMemoryStore();
  for (const collection of (await store.collections?.()) ?? []) {
    for await (const { key, value } of readAll(store, collection)) {
      await copy.commit([{ kind: "put", collection, key, value: value as never }]);
    }
  }
  return copy;
}

class House {
  readonly root = makeDirectory();
  readonly archive = join(this.root, "archive");
  #moves = 0;
  journal = join(this.root, "journal-0");
  store: Store = createMemoryStore();
  copy: Store | undefined;
  now = Date.UTC(2026, 0, 1);
  state!: ServerState;
  #durability: Durability = "process";
  #stepsLeft: number | undefined;
  readonly faults: unknown[] = [];
  readonly counts = new Map<string, number>();
  readonly standing = new Map<string, string>();
  /** Agents whose last change may be lost. */
  readonly unsure = new Set<string>();

  async open(): Promise<void> {
    const { store } = this;
    const collections = async () => (await store.collections?.()) ?? [];
    this.state = await openState({
      store: alterStore(store, { collections, close: () => Promise.resolve() }),
      ...{ journalDirectory: this.journal, segmentBytes: 1_500, now: () => this.now },
      durability: this.#durability,
      onFault: (error) => void this.faults.push(error),
      onCutStep: () => {
        if (this.#stepsLeft === undefined) return;
        this.#stepsLeft -= 1;
        if (this.#stepsLeft <= 0) throw new Error("the process is killed");
      },
    });
  }

  async append(agentId: string, extension?: Readonly<Record<string, unknown>>) {
    const { ledger } = this.state;
    this.now += 1_000;
    const attributor = new Attributor({ serverId, sealer: createSealer(signer), ledger });
    const draft = attributor.chained(makeFacts(agentId, extension && { extension }));
    await ledger.settled();
    this.counts.set(agentId, (this.counts.get(agentId) ?? 0) + 1);
    return draft;
  }

  /** The process ends without storing anything more. */
  async kill(store?: Store): Promise<void> {
    const next = store ?? (await copyOf(this.store));
    await this.state.close();
    this.store = next;
    await this.open();
  }

  /** Lost records stay lost; a repair goes on, and says so once in each chain that it knows to have lost some. */
  async damage({ lines, isGone }: Extract<Step, { kind: "damage" }>): Promise<void> {
    const next = await copyOf(this.store);
    await this.state.close();
    this.store = next;
    // An older copy knows of what a repair has written off, and would be refused again.
    this.copy = undefined;
    const cut = await readLastCut(this.journal);
    const path = listSegments(this.journal)
      .filter((number) => number > (cut?.through ?? 0))
      .map((number) => join(this.journal, segmentName(number)))
      .findLast((one) => statSync(one).size > 0);
    if (path !== undefined) {
      const all = readFileSync(path, "latin1").split("\n").slice(0, -1);
      const lost = all.slice(-lines).map((line) => (isGone ? "" : `${"x".repeat(line.length)}\n`));
      const left = all.slice(0, -lines).map((line) => `${line}\n`);
      writeFileSync(path, [...left, ...lost].join(""), "latin1");
    }
    this.now += 1_000;
    const { now } = this;
    const directory = this.journal;
    const options = { store: this.store, directory, signer, serverId, reason: undefined, now };
    await repairJournal(options);
    expect((await repairJournal({ ...options, now: now + 1 })).damages).toEqual([]);
    await this.open();
    for (const agentId of AGENTS) {
      const report = await verifyJournalChain({ directory, agentId, keys: [publicKey] });
      this.counts.set(agentId, (report?.records ?? 0) + (report?.cut?.records ?? 0));
      // The store alone may know of it now.
      this.standing.delete(agentId);
      this.unsure.add(agentId);
    }
  }

  async run(step: Step): Promise<void> {
    switch (step.kind) {
      case "append":
        for (let more = 0; more < step.count; more += 1)
          await this.append(AGENTS[step.agent] ?? "");
        return;
      case "stand": {
        const agentId = AGENTS[step.agent] ?? "";
        const status = step.isActive ? "active" : "suspended";
        const draft = await this.append(agentId, {
          event_type: step.isActive ? "agent_reactivated" : "agent_suspended",
          previous_status: "active",
          new_status: status,
        });
        await this.state.lifecycle.append(draft);
        this.standing.set(agentId, status);
        this.unsure.delete(agentId);
        return;
      }
      case "retain":
        this.#stepsLeft = step.steps;
        this.state.retention?.apply({
          limits: { bytes: step.bytes, ...(step.isArchived ? { archive: this.archive } : {}) },
          ...{ signer, serverId },
        });
        await this.state.retention?.run();
        if (this.#stepsLeft !== undefined) await this.kill();
        this.#stepsLeft = undefined;
        return;
      case "stop":
        await this.state.close();
        return this.open();
      case "kill":
        return this.kill();
      case "lose-store":
        return this.kill(createMemoryStore());
      case "keep-copy":
        this.copy = await copyOf(this.store);
        return;
      case "put-copy":
        return this.kill(this.copy && (await copyOf(this.copy)));
      case "tear": {
        const last = listSegments(this.journal).at(-1) ?? 1;
        appendFileSync(join(this.journal, segmentName(last)), "half a line");
        return this.kill();
      }
      case "damage":
        return this.damage(step);
      case "tear-cuts":
        // Of a cut that was never made.
        appendFileSync(join(this.journal, "cuts.jws"), "half a cut");
        return this.kill();
      case "lose-derived":
        for (const name of readdirSync(this.journal)) {
          if (/^\d+\.idx$|^segments\.json$/.test(name)) truncateSync(join(this.journal, name), 0);
        }
        return this.kill();
      case "change-durability":
        this.#durability = this.#durability === "power" ? "process" : "power";
        return this.kill();
      case "move": {
        const lines: string[] = [];
        for await (const line of this.state.exported(serverId)) lines.push(line);
        const octets = (async function* () {
          yield Buffer.from(lines.join(""));
        })();
        this.#moves += 1;
        const directory = join(this.root, `journal-${this.#moves}`);
        const store = createMemoryStore();
        await importState(octets, { store, directory, onHeader: () => undefined });
        await this.state.close();
        this.copy = undefined;
        this.journal = directory;
        this.store = store;
        return this.open();
      }
    }
  }

  async check(): Promise<void> {
    for (const agentId of AGENTS) {
      const count = this.counts.get(agentId) ?? 0;
      const report = await verifyJournalChain({
        ...{ directory: this.journal, agentId, keys: [publicKey] },
      });
      const found = (report?.records ?? 0) + (report?.cut?.records ?? 0);
      expect([report?.broken, found]).toEqual([undefined, count]);
      const head = this.state.ledger.headOf(agentId)?.auditId;
      expect(head).toBe(count === 0 ? undefined : report?.head);
      const last = report?.last?.auditId;
      if (last !== undefined) expect(await this.state.ledger.find(last)).toBeDefined();
      const document = { agentId, status: "active" } as never;
      const standing = this.standing.get(agentId) ?? "active";
      if (!this.unsure.has(agentId)) {
        expect(this.state.lifecycle.statusOf(document)).toBe(standing);
      }
    }
    expect(this.faults).toEqual([]);
  }
}

// AGTP-IDENTIFIERS "Audit Log", "Attribution Chain"
it("keeps every chain, and where each agent stands, whatever happens to its files", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { maxLength: 24, size: "max" }), async (steps) => {
      const house = new House();
      await house.open();
      for (const step of steps) {
        await house.run(step);
        await house.check();
      }
      await house.state.close();
    }),
    { numRuns: 25 },
  );
}, 600_000);
