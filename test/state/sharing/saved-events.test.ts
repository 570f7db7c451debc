/** Workers store their events with their parent before it forgets them. */
import { duplexPair } from "node:stream";
import { expect, it, onTestFinished } from "vitest";
import { Link } from "../../../src/base/link.ts";
import type { AgentDocument } from "../../../src/identity/agent-document.ts";
import { createMemoryJournal } from "../../../src/state/journal/journal.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import { Attributor } from "../../../src/state/records/ledger.ts";
import { createJournalStore } from "../../../src/state/records/record-store.ts";
import { createRecordSigner, createSealer } from "../../../src/state/records/sealer.ts";
import { STORE_FAULTS } from "../../../src/state/sharing/link-faults.ts";
import { ParentNode } from "../../../src/state/sharing/parent-node.ts";
import { ParentRecords } from "../../../src/state/sharing/parent-records.ts";
import { ParentStore } from "../../../src/state/sharing/parent-store.ts";
import { SealedChains } from "../../../src/state/sharing/sealed-chains.ts";
import { type Joined, SharedState } from "../../../src/state/sharing/shared-state.ts";
import { openState } from "../../../src/state/state.ts";
import { PATIENCE } from "../../support/patience.ts";
import { makeFacts } from "../../support/state.ts";

const LEASE_MS = 3_000;

const AGENT: AgentDocument = {
  ...{ agentId: "a".repeat(64), name: "alice", status: "active" },
} as AgentDocument;

/** A parent whose workers have a ledger and registers of their own. */
function makeParent() {
  const store = createMemoryStore();
  const chains = new SealedChains(createJournalStore(createMemoryJournal()), new Map());
  return { store, chains, shared: new SharedState({ store, chains, leaseMs: LEASE_MS }) };
}

async function openWorker(shared: SharedState, { isServing = true } = {}) {
  const [near, far] = duplexPair();
  const link = new Link(near, STORE_FAULTS);
  void shared.serve(new Link(far, STORE_FAULTS), "1");
  const joined = await link.ask<Joined>("join");
  const store = new ParentStore(link);
  const view = new ParentNode({ link, store, joined });
  const records = new ParentRecords(link, () => view.checkLease());
  const faults: unknown[] = [];
  const state = await openState({
    ...{ store, view, shared: { records, heads: new Map(), events: [] } },
    ...{ journalDirectory: undefined, onFault: (error) => void faults.push(error) },
  });
  link.serve({ save: () => state.save() });
  await view.start();
  if (isServing) link.tell("serving");
  onTestFinished(async () => {
    await view.close();
    link.close();
    expect(faults).toEqual([]);
  });
  const sealer = createSealer(createRecordSigner());
  const attributor = new Attributor({ serverId: "s", sealer, ledger: state.ledger });
  const record = async (extension: Readonly<Record<string, unknown>>) => {
    const draft = attributor.chained(makeFacts(AGENT.agentId, { extension }));
    await state.ledger.kept(draft);
    return draft;
  };
  return { state, record, kill: () => link.close() };
}

it("is stored also where the question for it comes at the heels of the answer to the event", async () => {
  const { store, chains, shared } = makeParent();
  const { state, record } = await openWorker(shared);
  const append = chains.append.bind(chains);
  const saved = new Promise<unknown>((resolve) => {
    chains.append = (batch) => {
      const appended = append(batch);
      void appended.then(async () => {
        await shared.save();
        resolve(await store.get("lifecycle", AGENT.agentId));
      });
      return appended;
    };
  });
  const change = { method: "REVOKE", agent: AGENT, details: {}, record } as const;
  expect(await state.lifecycle.apply(change)).toMatchObject({ kind: "changed" });
  expect(await saved).toMatchObject({ status: "retired" });
  expect(chains.events).toEqual([]);
});

it("is told to a successor also where the worker was killed while its event was being written", async () => {
  const { chains, shared } = makeParent();
  const first = await openWorker(shared);
  let goOn: () => void = () => undefined;
  const written = new Promise<void>((resolve) => (goOn = resolve));
  const append = chains.records.append.bind(chains.records);
  let isWriting = false;
  Object.assign(chains.records, {
    append: async (...batch: Parameters<typeof append>) => {
      isWriting = true;
      await written;
      return append(...batch);
    },
  });
  const change = { method: "REVOKE", agent: AGENT, details: {}, record: first.record } as const;
  void first.state.lifecycle.apply(change).catch(() => undefined);
  await expect.poll(() => isWriting, PATIENCE).toBe(true);
  first.kill();
  const [near, far] = duplexPair();
  const link = new Link(near, STORE_FAULTS);
  onTestFinished(() => link.close());
  void shared.serve(new Link(far, STORE_FAULTS), "1");
  const joining = link.ask<Joined>("join");
  await new Promise((resolve) => setTimeout(resolve));
  goOn();
  const { events } = await joining;
  expect(events).toHaveLength(1);
});

it.each([
  ["before it served", false],
  ["and is not replaced", true],
])("is stored by the parent where the worker was killed %s", async (_, isServing) => {
  const { store, chains, shared } = makeParent();
  const worker = await openWorker(shared, { isServing });
  const states = { previous_status: "active", new_status: "retired" };
  await worker.record({ event_type: "agent-genesis-revoked", ...states });
  expect(await store.get("lifecycle", AGENT.agentId)).toBeUndefined();
  worker.kill();
  await shared.save();
  expect(await store.get("lifecycle", AGENT.agentId)).toMatchObject({ status: "retired" });
  expect(chains.events).toEqual([]);
});

it("is asked for once there are many of them, also where no journal is ever full", async () => {
  const { chains, shared } = makeParent();
  const { record } = await openWorker(shared);
  const most = 1_000;
  for (let made = 0; made < 3 * most; made += 100) {
    const extension = { event_type: "contract-released" };
    await Promise.all(Array.from({ length: 100 }, () => record(extension)));
  }
  await expect.poll(() => chains.events.length, PATIENCE).toBeLessThan(2 * most);
});
