/** The scenario of handlers: a function in the daemon, in a separate process, and behind an HTTPS API. */
import { type BenchHandler, hasPython } from "./handlers.ts";
import { type Contender, measureRounds, medianOf, type Sample, type Timing } from "./measure.ts";
import { served } from "./peers.ts";
import { atLeast, atMost, type Row } from "./row.ts";
import type { ServerPool } from "./servers.ts";

/** One call at a time, to measure its cost rather than the throughput. */
const ONE: Parameters<typeof measureRounds>[1] = { connections: 1, inFlight: 1 };
const MANY: Parameters<typeof measureRounds>[1] = { connections: 16, inFlight: 1 };

/** Measures the cost of a call beyond that of the function in the daemon. */
export async function measureProcesses(pool: ServerPool, timing: Timing): Promise<Row[]> {
  const api = await pool.fastify();
  const contenders = {
    function: await aim(pool, "function"),
    process: await aim(pool, "process"),
    api: await aim(pool, { url: `https://localhost:${api.port}/orders` }),
  };
  const single = await measureRounds(contenders, ONE, timing);
  const python = await measurePython(pool, timing);
  const many = await measureRounds(contenders, MANY, timing);
  const p50 = (samples: readonly Sample[]): number => medianOf(samples, "p50Micros");
  const perSecond = (samples: readonly Sample[]): number => medianOf(samples, "perSecond");
  const beyond = p50(single.process) - p50(single.function);
  const scenario = "processes";
  return [
    row(
      scenario,
      "a function in the daemon, one call at a time: median",
      "µs",
      p50(single.function),
    ),
    {
      ...row(scenario, "the same in a process of its own", "µs", p50(single.process)),
      goals: [
        atMost(beyond, 150, "beyond in the daemon", "µs"),
        atLeast(p50(single.api) / p50(single.process), 3, "as fast as an HTTPS API", false),
      ],
    },
    ...python.map((samples) =>
      row(scenario, "the same in a process in Python", "µs", p50(samples)),
    ),
    row(scenario, "the same as an HTTPS API on the host", "µs", p50(single.api)),
    {
      ...row(
        scenario,
        "in a process, 16 connections, 1 in flight each",
        "req/s",
        perSecond(many.process),
      ),
      goals: [atLeast(perSecond(many.process) / perSecond(many.api), 3, "an HTTPS API", false)],
    },
  ];
}

/** Measures the same function in Python, if available, with the library of `handlers/`. */
async function measurePython(pool: ServerPool, timing: Timing): Promise<readonly Sample[][]> {
  if (!hasPython()) return [];
  const { python } = await measureRounds({ python: await aim(pool, "python") }, ONE, timing);
  return [python];
}

function row(scenario: string, label: string, unit: Row["unit"], agtpd: number): Row {
  return { scenario, label, unit, agtpd, goals: [] };
}

async function aim(pool: ServerPool, handler: BenchHandler): Promise<Contender> {
  return served(pool, await pool.agtpd(1, { handler }), 1);
}
