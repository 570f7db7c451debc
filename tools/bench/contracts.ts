/** Contracts of a deployment under test, each for one call of an endpoint; written to its store before it starts. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Contract, type ContractEndpoint, hashContract } from "../../src/endpoint/contract.ts";
import { openStore } from "../../src/state/open-store.ts";
import { ContractRegister } from "../../src/state/registers/contract-register.ts";
import { benchAgentId, ORDER_SCHEMA } from "./order.ts";
import { orderPath } from "./order-endpoint.ts";

/** An agent may have up to a thousand contracts. */
const OWNERS = 100;
/** The number of contracts in one commit. */
const TOGETHER = 500;
const DAY_MS = 86_400_000;

/** The agent that owns the nth contract. */
export function ownerOf(index: number): number {
  return index % OWNERS;
}

/** The path of the nth contract; all paths have the same length. */
export function contractPath(index: number): string {
  return `/agreed/${String(index).padStart(5, "0")}`;
}

/** Writes contracts `CREATE /agreed/00000`, `CREATE /agreed/00001`, … into the store of a deployment. */
export async function writeContracts(deployment: string, count: number): Promise<void> {
  const directory = join(deployment, ".agtp");
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { store } = await openStore({ driver: "sqlite", path: join(directory, "state.db") }, "");
  if (store === undefined) throw new Error("the store for contracts does not open");
  const register = await ContractRegister.open({ store, tombstoneMs: DAY_MS });
  const now = Date.now();
  for (let from = 0; from < count; from += TOGETHER) {
    const some = Array.from({ length: Math.min(TOGETHER, count - from) }, (_, more) =>
      register.add(contract(from + more, now)),
    );
    await Promise.all(some);
  }
  await store.close();
}

function contract(index: number, now: number): Contract {
  const endpoint: ContractEndpoint = {
    ...{ method: "CREATE", path: contractPath(index), description: "Places an order." },
    semantic: {
      ...{ intent: "Place an order.", actor: "agent", outcome: "The order is placed." },
      ...{ capability: "creation", confidence: 0.9, impact: "reversible", is_idempotent: false },
    },
    ...{ input_schema: ORDER_SCHEMA, output_schema: {}, errors: ["composition_failed"] },
    ...{ required_scopes: ["orders:write"], handler: { type: "composition" } },
  };
  const parameters = Object.fromEntries(
    ORDER_SCHEMA.required.map((value) => [value, { kind: "proposal", value }] as const),
  );
  return {
    ...{
      synthesisId: `syn-${String(index).padStart(5, "0")}`,
      agentId: benchAgentId(ownerOf(index)),
    },
    ...{ endpoint, lineage: undefined, contractHash: hashContract(endpoint, undefined) },
    plan: {
      ...{ name: "order", version: "1", aggregation: "last" },
      steps: [{ method: "CREATE", path: orderPath(0), parameters }],
    },
    ...{ origin: "propose", sessionId: undefined, isPersistent: true, state: "active" },
    ...{ issuedAt: now, expiresAt: now + DAY_MS },
  };
}
