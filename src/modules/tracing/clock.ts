/** The clock of all spans: milliseconds since the epoch, with their fractions. */
const { timeOrigin } = performance;

/** The time. */
export function now(): number {
  return timeOrigin + performance.now();
}

/** The time of a moment that `performance.now()` told. */
export function timeOf(moment: number): number {
  return timeOrigin + moment;
}
