/** The scenario of contracts: calls with few contracts compared to calls with many. */
import { aimAt } from "./aim.ts";
import { contractPath, ownerOf } from "./contracts.ts";
import { ONE_IN_FLIGHT } from "./load-scenarios.ts";
import { type Contender, measureRounds, medianOf, ratioOf, type Timing } from "./measure.ts";
import { agtpRequest } from "./order.ts";
import { atLeast, type Row } from "./row.ts";
import type { ServerPool } from "./servers.ts";

/** Goal 3: the cost of a call under a contract does not depend on their number. */
export async function measureContracts(pool: ServerPool, timing: Timing): Promise<Row[]> {
  const contender = async (contracts: number): Promise<Contender> => {
    const server = await pool.agtpd(10, { contracts, agents: 100 });
    const requests = Array.from({ length: contracts }, (_, index) =>
      agtpRequest("CREATE", contractPath(index), { agent: ownerOf(index) }),
    );
    return aimAt(server, pool.ca, "AGTP/1.0 200", requests);
  };
  const contenders = { few: await contender(10), many: await contender(10_000) };
  const { few, many } = await measureRounds(contenders, ONE_IN_FLIGHT, timing);
  return [
    {
      scenario: "contracts",
      label: "10,000 contracts of one step, 16 connections, 1 in flight each",
      unit: "req/s",
      agtpd: medianOf(many, "perSecond"),
      goals: [atLeast(ratioOf(many, few, "perSecond"), 0.95, "of 10 contracts")],
    },
  ];
}
