/**
 * Two nodes of one database that append to the same chains at the same time, while the server ends their connections in
 * the middle of whatever they do, and either of them starts anew. What was acknowledged is in its chain once, behind what
 * was acknowledged before it was begun; what failed is there once or not at all; and both nodes go on afterwards.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { Attributor } from "../../src/state/records/ledger.ts";
import { createRecordSigner, createSealer } from "../../src/state/records/sealer.ts";
import { makeKeyPair } from "../support/attribution-chain.ts";
import { AT, type At } from "../support/hearing-nodes.ts";
import { describeWithPostgres, postgres } from "../support/postgres.ts";
import { openRecordNode, type RecordNode } from "../support/record-node.ts";
import { type ReadRecord, readJws, walkChain } from "../support/records.ts";
import { makeFacts } from "../support/state.ts";

const signer = createRecordSigner(makeKeyPair().privateKey);
const AGENTS = ["a", "b"].map((one) => one.repeat(64));

type Step =
  | { readonly kind: "record"; readonly at: At; readonly agent: number; readonly count: number }
  | { readonly kind: "restart"; readonly at: At }
  | { readonly kind: "end-backends" | "settle" };

const STEP: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      ...{ kind: fc.constant("record" as const), at: AT, agent: fc.nat(AGENTS.length - 1) },
      count: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const), at: AT }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("end-backends" as const, "settle") }) },
);

/** Records that a node was told are kept, and those that were told of before they were begun. */
interface Acknowledged {
  readonly agentId: string;
  readonly auditIds: readonly string[];
  readonly behind: readonly string[];
}

class World {
  readonly #url: string;
  readonly #nodes: RecordNode[] = [];
  readonly #acknowledged: Acknowledged[] = [];
  readonly #open = new Set<Promise<void>>();
  readonly #drafted = new Set<string>();
  readonly wrong: string[] = [];

  constructor(url: string) {
    this.#url = url;
  }

  async start(at: At): Promise<void> {
    this.#nodes[at] = await openRecordNode({ url: this.#url, node: `node-${at}`, signer });
  }

  async run(step: Step): Promise<void> {
    switch (step.kind) {
      case "record": {
        const work: Promise<void> = this.#record(step).finally(() => this.#open.delete(work));
        this.#open.add(work);
        return;
      }
      case "restart":
        await this.settle();
        await this.#nodes[step.at]?.close();
        return this.start(step.at);
      case "end-backends": {
        const others = "datname = current_database() AND pid <> pg_backend_pid()";
        const ending = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${others}`;
        await postgres().query(ending, this.#url);
        return;
      }
      case "settle":
        return this.settle();
    }
  }

  /** Every batch is kept, or its node was told that nobody knows. */
  async settle(): Promise<void> {
    await Promise.all(this.#open);
  }

  async #record({ at, agent, count }: Extract<Step, { kind: "record" }>): Promise<void> {
    const ledger = this.#nodes[at]?.state.ledger;
    if (ledger === undefined) return;
    const agentId = AGENTS[agent] ?? "";
    const before = this.#acknowledged.filter((one) => one.agentId === agentId);
    const behind = before.flatMap(({ auditIds }) => auditIds);
    const sealer = createSealer(signer);
    const attributor = new Attributor({ serverId: "agents.example", sealer, ledger });
    const drafts = Array.from({ length: count }, () => {
      const responseId = `res-${this.#drafted.size}`;
      this.#drafted.add(responseId);
      return attributor.chained(makeFacts(agentId, { responseId }));
    });
    const isKept = await ledger.settled().then(
      () => true,
      () => false,
    );
    const auditIds = drafts.map(({ auditId }) => auditId);
    if (isKept) this.#acknowledged.push({ agentId, auditIds, behind });
  }

  async check(): Promise<void> {
    await this.settle();
    const rows = await postgres().query("SELECT jws FROM agtp.records", this.#url);
    const records = rows.map(({ jws }): ReadRecord => readJws(String(jws)));
    const names = records.map(({ payload }) => String(payload["response_id"]));
    if (new Set(names).size < names.length) this.wrong.push("a record is kept twice");
    if (names.some((name) => !this.#drafted.has(name))) this.wrong.push("nobody drafted a record");
    for (const agentId of AGENTS) {
      const places = new Map(
        walkChain(records, agentId).map(({ auditId }, place) => [auditId, place]),
      );
      for (const { auditIds, behind } of this.#acknowledged.filter(
        (one) => one.agentId === agentId,
      )) {
        const own = auditIds.map((auditId) => places.get(auditId) ?? -1);
        if (own.includes(-1)) this.wrong.push("an acknowledged record is lost");
        const last = Math.max(-1, ...behind.map((auditId) => places.get(auditId) ?? -1));
        if (own.some((place) => place <= last)) this.wrong.push("it comes too soon");
      }
    }
    expect(this.wrong).toEqual([]);
  }

  async close(): Promise<void> {
    for (const node of this.#nodes) await node.close();
  }
}

// docs/cluster.md "Chains"
describeWithPostgres("chains of two nodes", () => {
  it("keep what was acknowledged, whenever their connections end", async () => {
    const steps = fc.array(STEP, { maxLength: 15, size: "max" });
    await fc.assert(
      fc.asyncProperty(steps, async (some) => {
        const world = new World(await postgres().makeDatabase());
        await world.start(0);
        await world.start(1);
        for (const step of some) await world.run(step);
        await world.check();
        await world.close();
      }),
      { numRuns: 3 },
    );
  });
});
