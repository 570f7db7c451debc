/** The scenario of Attribution-Records: none, unsigned, and signed with what a signature costs. */
import { ONE_IN_FLIGHT } from "./load-scenarios.ts";
import { measureRounds, medianOf, medianRatio, type Timing } from "./measure.ts";
import { served, startPeers } from "./peers.ts";
import { atLeast, type Row } from "./row.ts";
import type { ServerPool } from "./servers.ts";
import { measureSignature } from "./signature.ts";

/** Goal 2: a record on every response, in its chain and in the journal before the reply leaves. */
export async function measureRecords(pool: ServerPool, timing: Timing): Promise<Row[]> {
  const contenders = {
    raw: (await startPeers(pool)).raw,
    unsigned: await served(pool, await pool.agtpd(10, { records: "unsigned" }), 10),
    signed: await served(pool, await pool.agtpd(10, { records: "signed" }), 10),
  };
  const signatures: number[] = [];
  const measured = await measureRounds(contenders, ONE_IN_FLIGHT, timing, () => {
    signatures.push(measureSignature());
  });
  const { raw, unsigned, signed } = measured;
  const limits = raw.map(({ perSecond, ...rest }, round) => ({
    ...rest,
    perSecond: 1 / (1 / perSecond + (signatures[round] ?? 0) / 1e6),
  }));
  const scenario = "records";
  return [
    {
      agtpd: medianOf(unsigned, "perSecond"),
      raw: medianOf(raw, "perSecond"),
      ...{ scenario, label: "with unsigned records, 16 x 1", unit: "req/s", goals: [] },
    },
    {
      agtpd: medianOf(signed, "perSecond"),
      raw: medianOf(limits, "perSecond"),
      ...{ scenario, label: "with signed records (raw: echo and one signature)", unit: "req/s" },
      goals: [atLeast(medianRatio(signed, limits, "perSecond"), 0.8, "of the limit")],
    },
  ];
}
