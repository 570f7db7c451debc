/**
 * The scenario of `[server] workers`: one process and two under the same load. The load takes a
 * core of its own; on a machine without one for it, the ratios of requests mean little and have no
 * goal. The CPU time per request, of parent and workers together, is always reported and has a
 * goal: by itself, and relative to the efficiency that a raw echo with two processes on one socket
 * keeps in the same rounds, which is the machine's own loss with two busy processes.
 */
import { availableParallelism } from "node:os";
import { FRESH, PIPELINED } from "./load-scenarios.ts";
import {
  type Contender,
  measureRounds,
  medianOf,
  ratioOf,
  type Sample,
  spread,
  type Timing,
} from "./measure.ts";
import { rawPeer, servedTo } from "./peers.ts";
import { atLeast, type Row } from "./row.ts";
import type { ServerPool } from "./servers.ts";

const WORKERS = 2;
/** Besides the workers, the parent and the load need a core each. */
const HAS_CORES: boolean = availableParallelism() >= WORKERS + 2;
const AGENTS = PIPELINED.connections;

/** Measures handshakes, unsigned and signed calls of many agents, and signed calls of a single agent. */
export async function measureWorkers(pool: ServerPool, timing: Timing): Promise<Row[]> {
  const unsigned = await startBoth(pool, "unsigned", AGENTS);
  const signed = await startBoth(pool, "signed", AGENTS);
  const single = await startBoth(pool, "signed", 1);
  const raw = { rawOne: await rawPeer(pool), rawTwo: await rawPeer(pool, WORKERS) };
  const cases = [
    { what: "new connections, 16 at a time", contenders: unsigned, shape: FRESH, share: 0.85 },
    { what: "unsigned records, 16 x 16", contenders: unsigned, shape: PIPELINED, share: 0.85 },
    { what: "signed records, 16 x 16", contenders: signed, shape: PIPELINED, share: 0.7 },
    { what: "signed records of one agent, 16 x 16", contenders: single, shape: PIPELINED },
  ];
  const rows: Row[] = [];
  for (const { what, contenders, shape, share } of cases) {
    const { one, two, rawOne, rawTwo } = await measureRounds(
      { ...contenders, ...raw },
      shape,
      timing,
    );
    const ratio = ratioOf(two, one, "perSecond");
    const kept = ratioOf(one, two, "cpuMicros");
    const limit = ratioOf(rawOne, rawTwo, "cpuMicros");
    const ofLimit = spread(
      one.map((_, round) => keptIn(one, two, round) / keptIn(rawOne, rawTwo, round)),
    );
    const told = HAS_CORES ? "" : `: ${ratio.median.toFixed(2)} x, the load on the same cores`;
    const isHeld = HAS_CORES && share !== undefined;
    rows.push(
      {
        ...{ scenario: "workers", label: `one process, ${what}`, unit: "req/s", goals: [] },
        agtpd: medianOf(one, "perSecond"),
      },
      {
        ...{ scenario: "workers", label: `two workers, ${what}${told}`, unit: "req/s" },
        agtpd: medianOf(two, "perSecond"),
        goals: isHeld ? [atLeast(ratio, share * WORKERS, "of one process")] : [],
      },
      {
        ...{ scenario: "workers", label: `the same: CPU of all processes, one: ${cpu(one)}` },
        ...{ unit: "µs", agtpd: medianOf(two, "cpuMicros"), raw: medianOf(rawTwo, "cpuMicros") },
        goals:
          share === undefined
            ? []
            : [
                atLeast(kept, share, ""),
                atLeast(ofLimit, share, `of raw's ${percent(limit.median)}`),
              ],
      },
    );
  }
  return rows;
}

/** The CPU time per request of one process relative to that of several, in one round. */
function keptIn(one: readonly Sample[], several: readonly Sample[], round: number): number {
  return (one[round]?.cpuMicros ?? Number.NaN) / (several[round]?.cpuMicros ?? Number.NaN);
}

function percent(ratio: number): string {
  return `${Math.round(ratio * 100)} %`;
}

function cpu(samples: readonly Sample[]): string {
  return medianOf(samples, "cpuMicros").toFixed(1);
}

async function startBoth(
  pool: ServerPool,
  records: "unsigned" | "signed",
  agents: number,
): Promise<Record<"one" | "two", Contender>> {
  // Each connection is one agent's, as far as there are enough agents.
  const start = async (workers: number): Promise<Contender> =>
    servedTo(pool, await pool.agtpd(10, { records, agents, workers }), agents);
  return { one: await start(1), two: await start(WORKERS) };
}
