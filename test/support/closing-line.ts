/** The last line of a test run: how many tests passed and failed, for whoever reads only that. */
import type { Reporter, TestCase } from "vitest/node";

/** Counts tests, and says so when the run is over. */
export class ClosingLine implements Reporter {
  readonly #counts = { passed: 0, failed: 0, skipped: 0 };

  onTestCaseResult(test: TestCase): void {
    const { state } = test.result();
    if (state !== "pending") this.#counts[state] += 1;
  }

  onTestRunEnd(_modules: unknown, errors: readonly unknown[], reason: string): void {
    const { passed, failed, skipped } = this.#counts;
    // A run can fail without a test that does: a file that cannot be read, an error nobody caught.
    const others = failed === 0 && reason === "failed" ? Math.max(1, errors.length) : 0;
    const skips = skipped === 0 ? "" : `, ${skipped} skipped`;
    process.stdout.write(`\n${passed} passed, ${failed + others} failed${skips}\n`);
  }
}
