import { describe, expect, it, vi } from "vitest";
import {
  PendingProposals,
  type ProposalAnswer,
} from "../../../../src/modules/negotiation/propose/pending-proposals.ts";
import type { SubmittedProposal } from "../../../../src/modules/negotiation/propose/read-proposal.ts";
import { createMemoryStore } from "../../../../src/state/memory-store.ts";
import { StoreUnavailableError } from "../../../../src/state/store-fault.ts";
import { PATIENCE } from "../../../support/patience.ts";
import { alterStore } from "../../../support/store.ts";

const PROPOSAL = {} as SubmittedProposal["proposal"];

function request(agentId: string, negotiationId = "n-1"): SubmittedProposal {
  return { agentId, sessionId: undefined, negotiationId, scopes: [], proposal: PROPOSAL };
}

async function idOf(answer: Promise<ProposalAnswer>): Promise<string> {
  const { body } = await answer;
  return String((body as { readonly proposal_id: string }).proposal_id);
}

/** Evaluates when it is told to. */
function evaluator() {
  const evaluated: string[] = [];
  const faults: unknown[] = [];
  let failures = 0;
  return {
    evaluated,
    faults,
    failNext: () => {
      failures += 1;
    },
    evaluate: async ({ negotiationId }: SubmittedProposal) => {
      evaluated.push(negotiationId);
      if (failures > 0) {
        failures -= 1;
        throw new Error("a bug");
      }
      return { status: 263, body: { of: negotiationId } };
    },
    onFault: (error: unknown) => void faults.push(error),
  };
}

async function rounds(count: number): Promise<void> {
  for (let round = 0; round < count; round += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

// AGTP-API §10.6, §11
describe("PendingProposals", () => {
  it("are pending until they are evaluated, and answer their own agent alone", async () => {
    const proposals = await PendingProposals.open(createMemoryStore());
    const id = await idOf(proposals.submit(request("alice")));
    expect(proposals.find(id, "alice")).toMatchObject({ status: 261 });
    expect(proposals.find(id, "bob")).toBeUndefined();
    proposals.evaluateBy(evaluator());
    await rounds(5);
    expect(proposals.find(id, "alice")).toMatchObject({
      status: 263,
      body: { of: "n-1" },
      negotiationId: "n-1",
    });
    expect(proposals.find(id, "bob")).toBeUndefined();
  });

  it("are taken up from the store, those with an answer as they are", async () => {
    const store = createMemoryStore();
    const first = await PendingProposals.open(store);
    const before = evaluator();
    first.evaluateBy(before);
    const answered = await idOf(first.submit(request("alice", "n-1")));
    await rounds(5);
    const idle = await PendingProposals.open(store);
    const pending = await idOf(idle.submit(request("alice", "n-2")));

    const again = await PendingProposals.open(store);
    const after = evaluator();
    again.evaluateBy(after);
    await rounds(5);
    expect(after.evaluated).toEqual(["n-2"]);
    expect(again.find(answered, "alice")).toMatchObject({ body: { of: "n-1" } });
    expect(again.find(pending, "alice")).toMatchObject({ body: { of: "n-2" } });
  });

  it("are not evaluated when they could not be kept", async () => {
    const store = createMemoryStore();
    const commit = (): Promise<never> => Promise.reject(new Error("the disk is full"));
    const proposals = await PendingProposals.open(alterStore(store, { commit }));
    await expect(proposals.submit(request("alice"))).rejects.toThrow("the disk is full");
    const by = evaluator();
    proposals.evaluateBy(by);
    await rounds(5);
    expect(by.evaluated).toEqual([]);
    expect(proposals.size).toBe(0);
  });

  it("go on after one that is a fault", async () => {
    const proposals = await PendingProposals.open(createMemoryStore());
    const by = evaluator();
    proposals.evaluateBy(by);
    by.failNext();
    const broken = await idOf(proposals.submit(request("alice", "n-1")));
    const fine = await idOf(proposals.submit(request("alice", "n-2")));
    await rounds(8);
    expect(by.faults).toHaveLength(1);
    expect(proposals.find(broken, "alice")).toMatchObject({ status: 261 });
    expect(proposals.find(fine, "alice")).toMatchObject({ status: 263 });
  });

  it("take turns by their agents, whoever has proposed most", async () => {
    const proposals = await PendingProposals.open(createMemoryStore());
    for (const one of ["a-1", "a-2", "a-3"]) await proposals.submit(request("alice", one));
    await proposals.submit(request("bob", "b-1"));
    const by = evaluator();
    proposals.evaluateBy(by);
    await rounds(12);
    expect(by.evaluated).toEqual(["a-1", "b-1", "a-2", "a-3"]);
  });

  it("are evaluated once, and have their answer though the store failed in between", async () => {
    const store = createMemoryStore();
    let failures = 0;
    const commit: typeof store.commit = (...asked) => {
      failures -= 1;
      if (failures < 0) return store.commit(...asked);
      return Promise.reject(new StoreUnavailableError("full", new Error("the disk is full")));
    };
    const proposals = await PendingProposals.open(alterStore(store, { commit }));
    const by = evaluator();
    const id = await idOf(proposals.submit(request("alice")));
    failures = 2;
    proposals.evaluateBy(by);
    await vi.waitFor(
      () =>
        expect(proposals.find(id, "alice")).toMatchObject({
          status: 263,
          body: { of: "n-1" },
          negotiationId: "n-1",
        }),
      PATIENCE,
    );
    expect(by.evaluated).toEqual(["n-1"]);
    expect(by.faults).toEqual([]);
  });

  it("are a bounded number of each agent, in the store as well", async () => {
    const store = createMemoryStore();
    const proposals = await PendingProposals.open(store);
    const first = await idOf(proposals.submit(request("alice")));
    const other = await idOf(proposals.submit(request("bob")));
    for (let count = 0; count < 100; count += 1) await proposals.submit(request("alice"));
    expect(proposals.find(first, "alice")).toBeUndefined();
    expect(proposals.find(other, "bob")).toBeDefined();
    expect(await store.list("proposals")).toHaveLength(101);
  });
});
