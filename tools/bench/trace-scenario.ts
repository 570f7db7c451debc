/** The scenario of traces: none, one in a hundred, all. */
import { ONE_IN_FLIGHT } from "./load-scenarios.ts";
import { type Contender, measureRounds, medianOf, ratioOf, type Timing } from "./measure.ts";
import { served } from "./peers.ts";
import { atLeast, type Row } from "./row.ts";
import type { ServerPool } from "./servers.ts";

/** Measures the remaining throughput; with records, the daemon's default. */
export async function measureTraces(pool: ServerPool, timing: Timing): Promise<Row[]> {
  const sink = await pool.traceSink();
  const endpoint = `http://127.0.0.1:${sink.port}`;
  const contenders = {
    off: await aim(pool, undefined),
    some: await aim(pool, { endpoint, ratio: 0.01 }),
    all: await aim(pool, { endpoint, ratio: 1 }),
  };
  const { off, some, all } = await measureRounds(contenders, ONE_IN_FLIGHT, timing);
  const ratio = (samples: typeof off) => ratioOf(samples, off, "perSecond");
  const scenario = "traces";
  const unit = "req/s";
  return [
    {
      ...{ scenario, label: "without traces, with unsigned records", unit },
      ...{ agtpd: medianOf(off, "perSecond"), goals: [] },
    },
    {
      ...{ scenario, label: "1 % of traces sampled", unit, agtpd: medianOf(some, "perSecond") },
      goals: [atLeast(ratio(some), 0.95, "without")],
    },
    {
      ...{ scenario, label: "all traces sampled", unit, agtpd: medianOf(all, "perSecond") },
      goals: [atLeast(ratio(all), 0.75, "without")],
    },
    {
      ...{ scenario, label: "without: server CPU a request", unit: "µs" },
      ...{ agtpd: medianOf(off, "cpuMicros"), goals: [] },
    },
    {
      ...{ scenario, label: "all sampled: the same, both threads", unit: "µs" },
      ...{ agtpd: medianOf(all, "cpuMicros"), goals: [] },
    },
  ];
}

async function aim(
  pool: ServerPool,
  tracing: { readonly endpoint: string; readonly ratio: number } | undefined,
): Promise<Contender> {
  return served(pool, await pool.agtpd(1, { records: "unsigned", tracing }), 1);
}
