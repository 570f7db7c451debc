/** One line of the benchmark's table, and the goals it is held against. */

/** One line. */
export interface Row {
  readonly scenario: string;
  readonly label: string;
  readonly unit: "req/s" | "µs" | "ms" | "KB";
  readonly raw?: number;
  readonly agtpd: number;
  readonly fastify?: number;
  /** Of MCP's library alone. */
  readonly library?: number;
  readonly goals: readonly Goal[];
}

/** One goal of a line, and whether it is met. */
export interface Goal {
  /** `88 % of raw` */
  readonly measured: string;
  /** `>= 85 %` */
  readonly bound: string;
  readonly isMet: boolean;
}

/** A ratio that shall be at least so much; `of` reads after the number: `of raw`. */
export function atLeast(ratio: number, bound: number, of: string, inPercent = true): Goal {
  return {
    measured: `${written(ratio, inPercent)} ${of}`,
    bound: `>= ${written(bound, inPercent)}`,
    isMet: ratio >= bound,
  };
}

/** A quantity that shall be at most so much. */
export function atMost(value: number, bound: number, of: string, unit = "x"): Goal {
  const digits = unit === "x" ? 2 : 0;
  return {
    measured: `${value.toFixed(digits)} ${unit}${of === "" ? "" : ` ${of}`}`,
    bound: `<= ${bound} ${unit}`,
    isMet: value <= bound,
  };
}

function written(ratio: number, inPercent: boolean): string {
  return inPercent ? `${Math.round(ratio * 100)} %` : `${ratio.toFixed(1)} x`;
}
