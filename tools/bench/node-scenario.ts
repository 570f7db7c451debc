/**
 * The scenario of several nodes on one PostgreSQL in a scratch directory: signed calls on one and
 * on two nodes, with the duration and rate of commits measured in the same rounds. The CPU time of
 * nodes, database and load together is reported, too: if all of them share the cores, it bounds the
 * effect of more nodes. Without PostgreSQL there are no rows.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { findPostgres } from "../find-postgres.ts";
import { removeAtEnd } from "../leftovers.ts";
import { Database } from "../torture/cluster/database.ts";
import { type Commits, openCommits } from "./commits.ts";
import { ONE_IN_FLIGHT, PIPELINED } from "./load-scenarios.ts";
import {
  type Contender,
  measureRounds,
  median,
  medianOf,
  ratioOf,
  type Sample,
  spread,
  type Timing,
} from "./measure.ts";
import { servedTo } from "./peers.ts";
import { microsOfTree } from "./process-time.ts";
import { atLeast, atMost, type Row } from "./row.ts";
import type { ServerPool } from "./servers.ts";

const ALONE = { connections: 1, inFlight: 1 } as const;
const AGENTS = PIPELINED.connections;
/** Two nodes, the database and the load need a core each, plus some reserve. */
const HAS_CORES: boolean = availableParallelism() >= 5;
const NODES = 2;
/** The expected throughput of each of several nodes, relative to a single node. */
const SHARE = 0.85;
const SCENARIO = { scenario: "nodes" } as const;

/** Measures one node and two under the same load. */
export async function measureNodes(pool: ServerPool, timing: Timing): Promise<Row[]> {
  const programs = findPostgres();
  if (programs === undefined) {
    process.stderr.write(
      "nodes  NOT RUN: there is no PostgreSQL (set POSTGRES_BIN to its programs)\n",
    );
    return [];
  }
  const directory = mkdtempSync(join(tmpdir(), "agtpd-bench-postgres-"));
  const removed = removeAtEnd(directory);
  const database = new Database(programs, directory);
  // Stopped after the daemons, which use it until they end.
  pool.defer(async () => {
    await database.stop();
    removed();
    rmSync(directory, { recursive: true, force: true });
  });
  await database.make();
  const url = `postgres://agtp@/agtp?host=${encodeURIComponent(directory)}`;
  const behindMicros = (): number => microsOfTree(database.pid);
  const variant = { records: "signed", agents: AGENTS } as const;
  const a = await pool.agtpd(10, { ...variant, store: { url, node: "a" } });
  const b = await pool.agtpd(10, { ...variant, store: { url, node: "b" } });
  const commits = await openCommits(url);
  pool.defer(() => commits.close());
  const one = await servedTo(pool, a, AGENTS);
  // The connection of each agent goes to one of the two nodes.
  const left = await servedTo(pool, a, AGENTS / 2);
  const right = await servedTo(pool, b, AGENTS / 2, AGENTS / 2);
  return measure(
    { one: { ...one, behindMicros }, two: { ...left, beside: [right], behindMicros } },
    commits,
    timing,
  );
}

async function measure(
  contenders: Readonly<Record<"one" | "two", Contender>>,
  commits: Commits,
  timing: Timing,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const shape of [PIPELINED, ONE_IN_FLIGHT]) {
    const rates: number[] = [];
    const { one, two } = await measureRounds(contenders, shape, timing, async () => {
      rates.push(await commits.perSecond());
    });
    const ratio = ratioOf(two, one, "perSecond");
    const told = HAS_CORES
      ? ""
      : `: ${ratio.median.toFixed(2)} x, ${busy(two)} % of the same cores`;
    const size = `16 x ${shape.inFlight}`;
    const alone = medianOf(one, "allMicros").toFixed(1);
    rows.push(
      {
        ...{ ...SCENARIO, label: `signed calls, one node, ${size} (raw: commits)`, unit: "req/s" },
        ...{ agtpd: medianOf(one, "perSecond"), raw: median(rates), goals: [] },
      },
      {
        ...{ ...SCENARIO, label: `signed calls, two nodes, ${size}${told}`, unit: "req/s" },
        ...{ agtpd: medianOf(two, "perSecond"), raw: median(rates) },
        goals: HAS_CORES ? [atLeast(ratio, SHARE * NODES, "of one node")] : [],
      },
      {
        ...{ ...SCENARIO, label: `the same: CPU of nodes, database and load, one node: ${alone}` },
        ...{ unit: "µs", agtpd: medianOf(two, "allMicros") },
        goals: [atLeast(ratioOf(one, two, "allMicros"), SHARE, "")],
      },
    );
  }
  // Measured last, because a single call mostly waits, and its code has been compiled by then.
  const times: number[] = [];
  const { alone } = await measureRounds({ alone: contenders.one }, ALONE, timing, async () => {
    times.push(await commits.medianMicros());
  });
  const commit = median(times);
  const ratios = alone.map(({ p50Micros }, round) => p50Micros / (times[round] ?? commit));
  return [
    {
      ...{ ...SCENARIO, label: "p50 of a signed call, one node, 1 x 1 (raw: a commit)" },
      ...{ unit: "µs", agtpd: medianOf(alone, "p50Micros"), raw: commit },
      goals: [atMost(spread(ratios), 2, "of a commit")],
    },
    ...rows,
  ];
}

/** The CPU time of the load and everything that answers it, in percent of all cores. */
function busy(samples: readonly Sample[]): number {
  const shares = samples.map(({ perSecond, allMicros }) => (perSecond * allMicros) / 1e6);
  return Math.round((median(shares) / availableParallelism()) * 100);
}
