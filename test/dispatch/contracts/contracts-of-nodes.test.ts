/** Contracts that two nodes end, or agree to, in the same moment: one does, and its chain says so once. */
import { readFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { MODULES } from "../../../src/app/modules.ts";
import type { AnyModule } from "../../../src/app/provision.ts";
import { createContractRecorder } from "../../../src/dispatch/contracts/contract-events.ts";
import { Exchange } from "../../../src/dispatch/exchange.ts";
import type { ContractOffers, OfferDecision } from "../../../src/dispatch/module/module.ts";
import { endSessionContracts } from "../../../src/modules/tasks/end-session.ts";
import { readEvent } from "../../../src/state/registers/lifecycle-event.ts";
import type { Store } from "../../../src/state/store.ts";
import type { DeploymentFiles } from "../../support/deployment.ts";
import { makeDirectory } from "../../support/directory.ts";
import { openServer, type TestServer } from "../../support/dispatch.ts";
import {
  AUDIT,
  ask,
  JUDGE,
  NORA,
  negotiationFiles,
  OPAL,
  offerOf,
  presenting,
  propose,
} from "../../support/negotiation.ts";
import { PATIENCE } from "../../support/patience.ts";
import { makeLastingStore, openTestState, type TestState } from "../../support/state.ts";

/** A node, what writes its records, and what clients of other protocols settle offers by. */
interface TestNode extends TestServer {
  readonly state: TestState;
  offers(): ContractOffers | undefined;
}

interface NodeSetup {
  /** The version of it. */
  readonly recipe?: string;
  readonly files?: DeploymentFiles;
}

/** A node over a store, which hears of others only where its writes meet theirs. */
async function openNode(
  store: Store,
  { recipe = "1", files = {} }: NodeSetup = {},
): Promise<TestNode> {
  const state = await openTestState(makeDirectory(), store);
  let offers: TestNode["offers"] = () => undefined;
  const listener: AnyModule = {
    ...{ name: "listener", takes: {} },
    provision: async ({ deployment }) => {
      offers = () => deployment().negotiation.offers;
      return {};
    },
  };
  const all = { ...negotiationFiles({}, recipe), ...files };
  const options = { state, isClean: false, modules: [...MODULES, listener] };
  return { ...(await openServer(all, options)), state, offers };
}

/** Two that know of the contracts which the first of them was asked for. */
async function openNodes(
  begin: (server: TestServer) => Promise<string>,
  setup?: NodeSetup,
): Promise<{ readonly id: string; readonly nodes: readonly [TestNode, TestNode] }> {
  const store = makeLastingStore();
  const id = await begin(await openNode(store));
  const nodes = [await openNode(store, setup), await openNode(store, setup)] as const;
  return { id, nodes };
}

async function activeContract(server: TestServer): Promise<string> {
  const { body } = await ask(server, NORA, propose(JUDGE));
  return String(body["synthesis_id"]);
}

async function eventsOf({ state }: TestServer): Promise<readonly string[]> {
  const events = await state.lifecycle.events(NORA, 100);
  return events.flatMap((record) => readEvent(record)?.eventType ?? []);
}

/** The word of an agent on an offer, as clients of other protocols bring it. */
async function decide(node: TestNode, id: string, decision: OfferDecision): Promise<number> {
  const body = Buffer.from(JSON.stringify({ synthesis_id: id, decision }));
  const headers = new Map([
    ["agent-id", NORA],
    ["content-type", "application/vnd.agtp+json"],
  ]);
  const sent = { method: "PROPOSE", path: "/", query: undefined, headers, body };
  const exchange = new Exchange(sent, { address: "127.0.0.1", port: 4480 }, performance.now());
  exchange.route = node.offers()?.decide;
  const { status } = await node.deployment.dispatcher.answer(exchange);
  return status;
}

// AGTP-API §10.1.4
describe("a contract that two nodes end in the same moment", () => {
  it.each([
    ["REVOKE", "rcns_revoke", (id: string) => ({ target: "contract", synthesis_id: id })],
    ["SUSPEND", "rcns_release", (id: string) => ({ synthesis_id: id })],
  ])("by %s is ended once, and the other one is told so", async (method, type, bodyOf) => {
    const { id, nodes } = await openNodes(activeContract);
    const request = { method, body: bodyOf(id) };
    const replies = await Promise.all(nodes.map((node) => ask(node, NORA, request)));
    const noops = replies.map(({ body }) => body["result"]?.["noop"]);
    expect(noops.toSorted()).toEqual([true, undefined]);
    expect((await eventsOf(nodes[0])).filter((one) => one === type)).toHaveLength(1);
  });

  it("by one word and another has the one that came first", async () => {
    const { id, nodes } = await openNodes(activeContract);
    const [released, revoked] = await Promise.all([
      ask(nodes[0], NORA, { method: "SUSPEND", body: { synthesis_id: id } }),
      ask(nodes[1], NORA, { method: "REVOKE", body: { target: "contract", synthesis_id: id } }),
    ]);
    expect(released.body["result"]).toMatchObject({ status: "released" });
    expect(revoked.body["result"]).toMatchObject({ status: "released", noop: true });
  });

  it("is unknown at the one that ends it where the other has forgotten it", async () => {
    const { id, nodes } = await openNodes(activeContract);
    await nodes[0].state.contracts.evict([id]);
    const body = { target: "contract", synthesis_id: id };
    expect((await ask(nodes[1], NORA, { method: "REVOKE", body })).status).toBe(404);
    const late = await openNodes(activeContract);
    await late.nodes[0].state.contracts.evict([late.id]);
    const request = { method: "SUSPEND", body: { synthesis_id: late.id } };
    expect((await ask(late.nodes[1], NORA, request)).status).toBe(404);
  });

  it("as a stale one is evicted once", async () => {
    const { nodes } = await openNodes((server) => offerOf(server, NORA), { recipe: "2" });
    const request = { method: "REVOKE", body: { target: "stale-contracts", mode: "invalidate" } };
    const replies = await Promise.all(nodes.map((node) => ask(node, OPAL, request)));
    const evicted = replies.map(({ body }) => body["result"]?.["audit_ids"]);
    expect(evicted.flat()).toHaveLength(1);
    expect(await eventsOf(nodes[0])).toEqual(["rcns_release"]);
  });

  it("with its session is released once", async () => {
    const inSession = { "Session-ID": "s-1" };
    const { nodes } = await openNodes(async (server) => {
      const { body } = await ask(server, NORA, propose(JUDGE), inSession);
      return String(body["synthesis_id"]);
    });
    const session = { sessionId: "s-1", agentId: NORA, state: "expired" } as const;
    await Promise.all(
      nodes.map(async (node) => {
        const { attributor, contracts: register } = node.state;
        const deployment = () => ({ directory: { find: () => undefined } });
        const record = createContractRecorder({ attributor, state: node.state, deployment });
        await endSessionContracts({ register, record }, session);
      }),
    );
    expect(await eventsOf(nodes[0])).toEqual(["rcns_release", "rcns_propose_accepted"]);
  });

  // AGTP-API §4.5
  it("since the catalog has its method no more is released once", async () => {
    const store = makeLastingStore();
    await activeContract(await openNode(store));
    const catalog = JSON.parse(readFileSync("catalog/methods.json", "utf8"));
    delete catalog.verbs.ANALYZE;
    const files = { "catalog/methods.json": JSON.stringify(catalog) };
    const nodes = await Promise.all([openNode(store, { files }), openNode(store, { files })]);
    await vi.waitFor(async () => {
      expect(nodes.map(({ state }) => [...state.contracts.eachOpen()])).toEqual([[], []]);
      expect(await eventsOf(nodes[0])).toContain("rcns_release");
    }, PATIENCE);
    await Promise.all(nodes.map(({ state }) => state.ledger.settled()));
    expect(await eventsOf(nodes[0])).toEqual(["rcns_release", "rcns_propose_accepted"]);
  });
});

// AGTP-API §10.1.3
describe("an offer that two nodes are told something of in the same moment", () => {
  const offer = (server: TestServer) => offerOf(server, NORA);

  it("is agreed to once where it is presented at both", async () => {
    const { id, nodes } = await openNodes(offer);
    const replies = await Promise.all(nodes.map((node) => ask(node, NORA, AUDIT, presenting(id))));
    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
    expect(await eventsOf(nodes[0])).toEqual(["rcns_propose_accepted"]);
  });

  it("goes on where one has agreed to it and the other one declines", async () => {
    const { id, nodes } = await openNodes(offer);
    expect(await decide(nodes[0], id, "accept")).toBe(263);
    expect(await decide(nodes[1], id, "decline")).toBe(461);
    for (const node of nodes) {
      expect((await ask(node, NORA, AUDIT, presenting(id))).status).toBe(200);
    }
  });

  it("goes on where it is agreed to and declined at one at once", async () => {
    const { id, nodes } = await openNodes(offer);
    const [node] = nodes;
    const statuses = [decide(node, id, "accept"), decide(node, id, "decline")];
    expect(await Promise.all(statuses)).toEqual([263, 461]);
    expect((await ask(node, NORA, AUDIT, presenting(id))).status).toBe(200);
  });

  it("is not made where one has declined it and the other one agrees", async () => {
    const { id, nodes } = await openNodes(offer);
    expect(await decide(nodes[0], id, "decline")).toBe(461);
    expect(await decide(nodes[1], id, "accept")).toBe(464);
    expect(await eventsOf(nodes[0])).toEqual([]);
  });

  it("is told of as over, with nothing done, where one has declined it and it is presented at the other one", async () => {
    const { id, nodes } = await openNodes(offer);
    expect(await decide(nodes[0], id, "decline")).toBe(461);
    const presented = await ask(nodes[1], NORA, AUDIT, presenting(id));
    const reason = "contract-revoked";
    const explanation = "the contract is released: its agent has declined it";
    expect(presented).toMatchObject({ status: 464, body: { reason, explanation } });
    expect(presented.headers.get("rcns-attempt-id")).toMatch(/^rcns-/);
    const forgotten = await openNodes(offer);
    await forgotten.nodes[0].state.contracts.evict([forgotten.id]);
    const headers = presenting(forgotten.id);
    expect((await ask(forgotten.nodes[1], NORA, AUDIT, headers)).status).toBe(404);
  });

  it("is unknown to the one that agrees to it where the other has forgotten it", async () => {
    const { id, nodes } = await openNodes(offer);
    await nodes[0].state.contracts.evict([id]);
    expect(await decide(nodes[1], id, "accept")).toBe(404);
  });
});

// AGTP-API §10.3
describe("a negotiation that goes on at another node", () => {
  it("is known there by its Negotiation-ID, and has three turns in all", async () => {
    const store = makeLastingStore();
    const nodes = [await openNode(store), await openNode(store)] as const;
    const output = { type: "object", properties: { moon: {} }, required: ["moon"] };
    const rejected = propose({ ...JUDGE, output_schema: output });
    const first = await ask(nodes[0], NORA, rejected);
    const turn = { "Negotiation-ID": first.headers.get("negotiation-id") ?? "" };
    expect((await ask(nodes[1], OPAL, rejected, turn)).status).toBe(400);
    expect((await ask(nodes[1], NORA, rejected, turn)).status).toBe(463);
    expect((await ask(nodes[0], NORA, rejected, turn)).status).toBe(463);
    for (const node of nodes) {
      const over = await ask(node, NORA, propose(JUDGE), turn);
      expect(over).toMatchObject({ status: 463, body: { escalate: true } });
    }
    const next = await openNode(store);
    const later = await ask(next, NORA, propose(JUDGE), turn);
    expect(later).toMatchObject({ status: 463, body: { escalate: true } });
  });
});
