/** One line of the benchmark's table, with its goals. */

import type { Ratio } from "./measure.ts";

/** One line. */
export interface Row {
  readonly scenario: string;
  readonly label: string;
  readonly unit: "req/s" | "µs" | "ms" | "KB" | "octets" | "%";
  readonly raw?: number;
  readonly agtpd: number;
  readonly fastify?: number;
  /** The value of MCP's library alone. */
  readonly library?: number;
  readonly goals: readonly Goal[];
}

/** One goal of a line, and whether it is met; undefined if the rounds disagree. */
export interface Goal {
  /** `88 % of raw` */
  readonly measured: string;
  /** `>= 85 %` */
  readonly bound: string;
  readonly isMet: boolean | undefined;
}

/** Rounds that differ by no more than this share agree, even on both sides of a bound. */
const AGREEING = 0.1;
/** Rounds that differ by more than this share are inconclusive, even on one side of a bound. */
const NOISY = 0.5;

/** A goal for the minimum of a ratio; `of` follows the number: `of raw`. */
export function atLeast(ratio: number | Ratio, bound: number, of: string, inPercent = true): Goal {
  const write = (value: number): string =>
    inPercent ? `${Math.round(value * 100)}` : value.toFixed(1);
  const unit = inPercent ? "%" : "x";
  return judge(ratio, { sign: ">=", bound, written: write(bound), unit, of, write });
}

/** A goal for the maximum of a quantity. */
export function atMost(value: number | Ratio, bound: number, of: string, unit = "x"): Goal {
  const write = (one: number): string => one.toFixed(unit === "x" ? 2 : 0);
  return judge(value, { sign: "<=", bound, written: String(bound), unit, of, write });
}

interface Bound {
  readonly sign: ">=" | "<=";
  readonly bound: number;
  /** The bound as shown in the table. */
  readonly written: string;
  readonly unit: string;
  readonly of: string;
  write(value: number): string;
}

function judge(value: number | Ratio, { sign, bound, written, unit, of, write }: Bound): Goal {
  const ratio = typeof value === "number" ? { median: value, low: value, high: value } : value;
  const meets = (one: number): boolean => (sign === ">=" ? one >= bound : one <= bound);
  const width = (ratio.high - ratio.low) / Math.abs(ratio.median);
  const isSplit = meets(ratio.low) !== meets(ratio.high);
  const isNoisy = width > NOISY || (isSplit && width > AGREEING);
  const told = isNoisy
    ? `too noisy to tell: ${write(ratio.low)} to ${write(ratio.high)}`
    : write(ratio.median);
  return {
    measured: `${told} ${unit} ${of}`.trimEnd(),
    bound: `${sign} ${written} ${unit}`,
    isMet: isNoisy ? undefined : meets(ratio.median),
  };
}
