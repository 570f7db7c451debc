/**
 * Reports that come as often as somebody likes: without a descriptor left every accept fails, and a
 * stranger that is turned away comes back. One line a second says so.
 */

const QUIET_MS = 1_000;

/** The report, at most once a second. */
export function quietened<Details extends readonly unknown[]>(
  report: (...details: Details) => void,
): (...details: Details) => void {
  let quietUntil = 0;
  return (...details) => {
    const now = performance.now();
    if (now < quietUntil) return;
    quietUntil = now + QUIET_MS;
    report(...details);
  };
}
