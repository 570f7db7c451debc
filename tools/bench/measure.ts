/** Measures loads: several rounds, the contenders one after the other in each, and the medians. */
import { setTimeout as delay } from "node:timers/promises";
import { type Shape, startLoad, type Target } from "./load.ts";
import type { ServerProcess } from "./server-process.ts";
import { Tally } from "./tally.ts";

/** One server with one kind of request. */
export interface Contender {
  readonly server: ServerProcess;
  readonly target: Target;
  /** Servers that share the load with it: each has an equal part of the connections. */
  readonly beside?: readonly Contender[];
  /** The processor's time of what the servers have done for them, in microseconds. */
  behindMicros?(): number;
}

/** The length and the number of the measurements. */
export interface Timing {
  /** Rounds that are thrown away: servers that have just started run code that is not compiled. */
  readonly unmeasuredRounds: number;
  readonly rounds: number;
  readonly warmUpMs: number;
  readonly windowMs: number;
  /** The connections that idle at once. */
  readonly idleConnections: number;
  /** How long memory is watched under load. */
  readonly soakMs: number;
}

/** The measurements of one round. */
export interface Sample {
  readonly perSecond: number;
  /** The server's CPU time a request. */
  readonly cpuMicros: number;
  /** The CPU time of servers, of what is behind them and of the load, a request. */
  readonly allMicros: number;
  readonly p50Micros: number;
  readonly p99Micros: number;
}

/** A second has a hundredth of the requests where each takes a connection of its own: code is compiled later. */
const FRESH_ROUNDS = 5;

/**
 * Per contender one sample a round; rounds are short and interleaved, and every other one goes the other way
 * around, so that drift and what one leaves to the next hit all alike. `onRound` measures what else belongs to a round.
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

/** The processor's time of all of them, in microseconds. */
async function cpuOf(contenders: readonly Contender[]): Promise<number> {
  const usages = await Promise.all(contenders.map(({ server }) => server.usage()));
  return usages.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0);
}

function behindMicros({ behindMicros: behind }: Contender): number {
  return behind?.() ?? 0;
}

/** Of the load, which this process makes. */
function ownMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** The middle of the values. */
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

/** A ratio as the rounds of a run told it. */
export interface Ratio {
  readonly median: number;
  /** Half of the rounds are between these. */
  readonly low: number;
  readonly high: number;
}

/** One contender's quantity over another's in the same round. */
export function ratioOf(
  samples: readonly Sample[],
  base: readonly Sample[],
  quantity: keyof Sample,
): Ratio {
  return spread(
    samples.map((sample, round) => sample[quantity] / (base[round]?.[quantity] ?? Number.NaN)),
  );
}

/** The middle half of some values, and their middle. */
export function spread(values: readonly number[]): Ratio {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.round((sorted.length - 1) * share)] ?? Number.NaN;
  return { median: median(values), low: at(0.25), high: at(0.75) };
}
