/** Measures loads: several rounds, the contenders one after the other in each, and the medians. */
import { setTimeout as delay } from "node:timers/promises";
import { type Shape, startLoad, type Target } from "./load.ts";
import type { ServerProcess } from "./server-process.ts";
import { Tally } from "./tally.ts";

/** One server with one kind of request. */
export interface Contender {
  readonly server: ServerProcess;
  readonly target: Target;
}

/** How long and how often to measure. */
export interface Timing {
  /** Rounds that are thrown away: servers that have just started run code that is not compiled. */
  readonly unmeasuredRounds: number;
  readonly rounds: number;
  readonly warmUpMs: number;
  readonly windowMs: number;
}

/** What one round measured. */
export interface Sample {
  readonly perSecond: number;
  /** The server's CPU time a request. */
  readonly cpuMicros: number;
  readonly p50Micros: number;
  readonly p99Micros: number;
}

/**
 * Per contender one sample a round; rounds are short and interleaved, so that drift hits all alike.
 * `onRound` measures what else belongs to a round.
 */
export async function measureRounds<Name extends string>(
  contenders: Readonly<Record<Name, Contender>>,
  shape: Shape,
  timing: Timing,
  onRound: () => void = () => {},
): Promise<Record<Name, Sample[]>> {
  const names = Object.keys(contenders) as Name[];
  const samples = Object.fromEntries(names.map((name) => [name, [] as Sample[]]));
  for (let round = -timing.unmeasuredRounds; round < timing.rounds; round += 1) {
    if (round >= 0) onRound();
    for (const name of names) {
      const sample = await measureLoad(contenders[name], shape, timing);
      if (round >= 0) samples[name]?.push(sample);
    }
  }
  return samples as Record<Name, Sample[]>;
}

async function measureLoad(to: Contender, shape: Shape, timing: Timing): Promise<Sample> {
  const tally = new Tally();
  const load = startLoad(to.target, shape, tally);
  try {
    await Promise.race([delay(timing.warmUpMs), load.failed]);
    const before = await to.server.usage();
    const startedAt = performance.now();
    tally.reset();
    await Promise.race([delay(timing.windowMs), load.failed]);
    const after = await to.server.usage();
    const seconds = (performance.now() - startedAt) / 1000;
    if (tally.count === 0) throw new Error("no request was answered");
    return {
      perSecond: tally.count / seconds,
      cpuMicros: (after.cpuMicros - before.cpuMicros) / tally.count,
      p50Micros: tally.percentileMicros(0.5),
      p99Micros: tally.percentileMicros(0.99),
    };
  } finally {
    load.stop();
  }
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

/** The median, over the rounds, of one contender's quantity over another's in the same round. */
export function medianRatio(
  samples: readonly Sample[],
  base: readonly Sample[],
  quantity: keyof Sample,
): number {
  const ratios = samples.map((sample, round) => sample[quantity] / (base[round]?.[quantity] ?? 0));
  return median(ratios);
}
