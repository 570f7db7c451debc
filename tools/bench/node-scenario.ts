/**
 * The scenario of several nodes on one PostgreSQL, which runs in a scratch directory: signed calls over one
 * and over two, beside what a commit takes and how many there are a second, measured in the same rounds.
 * Without a PostgreSQL there are no rows.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { findPostgres } from "../find-postgres.ts";
import { Database } from "../torture/cluster/database.ts";
import { aimAt } from "./aim.ts";
import { type Commits, openCommits } from "./commits.ts";
import { ONE_IN_FLIGHT, PIPELINED } from "./load-scenarios.ts";
import {
  type Contender,
  measureRounds,
  median,
  medianOf,
  ratioOf,
  spread,
  type Timing,
} from "./measure.ts";
import { agtpRequest } from "./order.ts";
import { orderPath } from "./order-endpoint.ts";
import { atLeast, atMost, type Goal, type Row } from "./row.ts";
import type { ServerProcess } from "./server-process.ts";
import type { ServerPool } from "./servers.ts";

const ALONE = { connections: 1, inFlight: 1 } as const;
const AGENTS = PIPELINED.connections;
/** Two nodes, the database and the load want one each, and a little is left. */
const HAS_CORES: boolean = availableParallelism() >= 5;
const SCENARIO = { scenario: "nodes" } as const;

/** One node and two, each answering the same load. */
export async function measureNodes(pool: ServerPool, timing: Timing): Promise<Row[]> {
  const programs = findPostgres();
  if (programs === undefined) {
    process.stderr.write(
      "nodes  NOT RUN: there is no PostgreSQL (set POSTGRES_BIN to its programs)\n",
    );
    return [];
  }
  const directory = mkdtempSync(join(tmpdir(), "agtpd-bench-postgres-"));
  const database = new Database(programs, directory);
  // Behind the daemons, which use it until they end.
  pool.defer(async () => {
    await database.stop();
    rmSync(directory, { recursive: true, force: true });
  });
  await database.make();
  const url = `postgres://agtp@/agtp?host=${encodeURIComponent(directory)}`;
  const variant = { records: "signed", agents: AGENTS } as const;
  const a = await pool.agtpd(10, { ...variant, store: { url, node: "a" } });
  const b = await pool.agtpd(10, { ...variant, store: { url, node: "b" } });
  const commits = await openCommits(url);
  pool.defer(() => commits.close());
  const one = await aim(pool, a, [0, AGENTS]);
  // Each agent has its connection at one of them.
  const [left, right] = [
    await aim(pool, a, [0, AGENTS / 2]),
    await aim(pool, b, [AGENTS / 2, AGENTS]),
  ];
  return measure({ one, two: { ...left, beside: [right] } }, commits, timing);
}

async function measure(
  contenders: Readonly<Record<"one" | "two", Contender>>,
  commits: Commits,
  timing: Timing,
): Promise<Row[]> {
  const times: number[] = [];
  const { alone } = await measureRounds({ alone: contenders.one }, ALONE, timing, async () => {
    times.push(await commits.medianMicros());
  });
  const commit = median(times);
  const ratios = alone.map(({ p50Micros }, round) => p50Micros / (times[round] ?? commit));
  const rows: Row[] = [
    {
      ...{ ...SCENARIO, label: "p50 of a signed call, one node, 1 x 1 (raw: a commit)" },
      ...{ unit: "µs", agtpd: medianOf(alone, "p50Micros"), raw: commit },
      goals: [atMost(spread(ratios), 2, "of a commit")],
    },
  ];
  for (const shape of [ONE_IN_FLIGHT, PIPELINED]) {
    const rates: number[] = [];
    const { one, two } = await measureRounds(contenders, shape, timing, async () => {
      rates.push(await commits.perSecond());
    });
    const ratio = ratioOf(two, one, "perSecond");
    const told = HAS_CORES ? "" : `: ${ratio.median.toFixed(2)} x, all on the same cores`;
    const goals: Goal[] = HAS_CORES ? [atLeast(ratio, 1.7, "of one node")] : [];
    const size = `16 x ${shape.inFlight}`;
    rows.push(
      {
        ...{ ...SCENARIO, label: `signed calls, one node, ${size} (raw: commits)`, unit: "req/s" },
        ...{ agtpd: medianOf(one, "perSecond"), raw: median(rates), goals: [] },
      },
      {
        ...{ ...SCENARIO, label: `signed calls, two nodes, ${size}${told}`, unit: "req/s" },
        ...{ agtpd: medianOf(two, "perSecond"), raw: median(rates), goals },
      },
    );
  }
  return rows;
}

/** The calls of the agents from one number up to another, each on a connection of its own. */
function aim(
  pool: ServerPool,
  server: ServerProcess,
  [from, to]: readonly [number, number],
): Promise<Contender> {
  const requests = Array.from({ length: to - from }, (_, index) =>
    agtpRequest("CREATE", orderPath(0), { agent: from + index }),
  );
  return aimAt(server, pool.ca, "AGTP/1.0 200", requests);
}
