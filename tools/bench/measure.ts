/** Measures loads: in each round every contender in turn, with medians over the rounds. */
import { setTimeout as delay } from "node:timers/promises";
import { type Shape, startLoad, type Target } from "./load.ts";
import type { ServerProcess } from "./server-process.ts";
import { Tally } from "./tally.ts";

/** A server, and one kind of request. */
export interface Contender {
  readonly server: ServerProcess;
  readonly target: Target;
  /** Servers that share its load: each gets an equal part of the connections. */
  readonly beside?: readonly Contender[];
  /** The CPU time of processes behind the servers, such as a database, in microseconds. */
  behindMicros?(): number;
}

/** The durations and numbers of measurements. */
export interface Timing {
  /** Warm-up rounds, which are discarded: code of a new server is not compiled yet. */
  readonly unmeasuredRounds: number;
  readonly rounds: number;
  readonly warmUpMs: number;
  readonly windowMs: number;
  /** The number of idle connections. */
  readonly idleConnections: number;
  /** The duration for which memory is watched under load. */
  readonly soakMs: number;
}

/** The measurements of one round. */
export interface Sample {
  readonly perSecond: number;
  /** The server's CPU time per request. */
  readonly cpuMicros: number;
  /** The CPU time of servers, of the processes behind them and of the load, per request. */
  readonly allMicros: number;
  readonly p50Micros: number;
  readonly p99Micros: number;
}

/** More warm-up for new connections: their rate is a hundredth, so code is compiled later. */
const FRESH_ROUNDS = 5;

/**
 * Returns one sample per contender and round. Rounds are short and interleaved, every other one in reverse
 * order, so that drift and after-effects hit all contenders alike. `onRound` takes further measurements.
 */
export async function measureRounds<Name extends string>(
  contenders: Readonly<Record<Name, Contender>>,
  shape: Shape,
  timing: Timing,
  onRound: () => void | Promise<void> = () => {},
): Promise<Record<Name, Sample[]>> {
  const names = Object.keys(contenders) as Name[];
  const samples = Object.fromEntries(names.map((name) => [name, [] as Sample[]]));
  const unmeasured = timing.unmeasuredRounds * (shape.fresh === true ? FRESH_ROUNDS : 1);
  for (let round = -unmeasured; round < timing.rounds; round += 1) {
    if (round >= 0) await onRound();
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const sample = await measureLoad(contenders[name], shape, timing);
      if (round >= 0) samples[name]?.push(sample);
    }
  }
  return samples as Record<Name, Sample[]>;
}

async function measureLoad(to: Contender, shape: Shape, timing: Timing): Promise<Sample> {
  const tally = new Tally();
  const all = [to, ...(to.beside ?? [])];
  const part = { ...shape, connections: Math.ceil(shape.connections / all.length) };
  const loads = all.map(({ target }) => startLoad(target, part, tally));
  const failed = Promise.race(loads.map((load) => load.failed));
  try {
    await Promise.race([delay(timing.warmUpMs), failed]);
    const before = await cpuOf(all);
    const allBefore = before + behindMicros(to) + ownMicros();
    const startedAt = performance.now();
    tally.reset();
    await Promise.race([delay(timing.windowMs), failed]);
    const after = await cpuOf(all);
    const allAfter = after + behindMicros(to) + ownMicros();
    const seconds = (performance.now() - startedAt) / 1000;
    if (tally.count === 0) throw new Error("no request was answered");
    return {
      perSecond: tally.count / seconds,
      cpuMicros: (after - before) / tally.count,
      allMicros: (allAfter - allBefore) / tally.count,
      p50Micros: tally.percentileMicros(0.5),
      p99Micros: tally.percentileMicros(0.99),
    };
  } finally {
    for (const load of loads) load.stop();
  }
}

/** The CPU time of all contenders, in microseconds. */
async function cpuOf(contenders: readonly Contender[]): Promise<number> {
  const usages = await Promise.all(contenders.map(({ server }) => server.usage()));
  return usages.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0);
}

function behindMicros({ behindMicros: behind }: Contender): number {
  return behind?.() ?? 0;
}

/** The CPU time of the load, which runs in this process. */
function ownMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** The median of the values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

/** The median of a quantity over the rounds. */
export function medianOf(samples: readonly Sample[], quantity: keyof Sample): number {
  return median(samples.map((sample) => sample[quantity]));
}

/** A ratio, as measured over the rounds of a run. */
export interface Ratio {
  readonly median: number;
  /** The quartiles: half of the rounds lie between them. */
  readonly low: number;
  readonly high: number;
}

/** The ratio of a quantity between two contenders, per round. */
export function ratioOf(
  samples: readonly Sample[],
  base: readonly Sample[],
  quantity: keyof Sample,
): Ratio {
  return spread(
    samples.map((sample, round) => sample[quantity] / (base[round]?.[quantity] ?? Number.NaN)),
  );
}

/** The quartiles and the median of some values. */
export function spread(values: readonly number[]): Ratio {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.round((sorted.length - 1) * share)] ?? Number.NaN;
  return { median: median(values), low: at(0.25), high: at(0.75) };
}
