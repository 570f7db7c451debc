/** The clock of all spans: milliseconds since the epoch, with their fractions. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}
