/**
 * Runs cases against a server, one after the other: skips what the server does not claim or what
 * whoever runs it did not allow, and gives up on a server that has fallen silent.
 */
import type { Target } from "./ask.ts";
import type { ConformanceCase } from "./case.ts";
import type { KnownFailing } from "./known-failing.ts";
import { runCase } from "./run-case.ts";
import type { TestSubject } from "./subject.ts";
import type { CaseVerdict, Outcome, Standing } from "./verdict.ts";

/** How cases are run. */
export interface SuiteOptions {
  readonly target: Target;
  readonly allowStateChanges: boolean;
  /** A SHOULD that is not met fails as well. */
  readonly isStrict: boolean;
  readonly known: KnownFailing;
  /** For all cases together; what is left then fails untried. */
  readonly totalTimeoutMs: number;
  /** Told of each case when it is done. */
  readonly onVerdict?: (verdict: CaseVerdict) => void;
}

/** Cases without any answer in time, one after the other, before the server counts as silent. */
const MAX_SILENT = 3;

/** A verdict on each case, in their order. */
export async function runSuite(
  cases: readonly ConformanceCase[],
  subject: TestSubject,
  options: SuiteOptions,
): Promise<readonly CaseVerdict[]> {
  const verdicts: CaseVerdict[] = [];
  const end = performance.now() + options.totalTimeoutMs;
  let silent = 0;
  for (const one of cases) {
    const started = performance.now();
    const untried = reasonNotToTry(one, subject, options);
    const outcome =
      untried ?? stopped(silent, end) ?? (await runCase(one, subject, boundedBy(end, options)));
    const verdict = judge(one, outcome, options, performance.now() - started);
    if (untried === undefined) silent = isSilence(outcome) ? silent + 1 : 0;
    verdicts.push(verdict);
    options.onVerdict?.(verdict);
  }
  return verdicts;
}

function reasonNotToTry(
  { needs, changesState }: ConformanceCase,
  { lacking }: TestSubject,
  { allowStateChanges }: SuiteOptions,
): Outcome | undefined {
  if (changesState && !allowStateChanges) {
    return { kind: "skipped", reason: "it changes state, which --allow-state-changes allows" };
  }
  const lacks = needs.flatMap((need) => lacking.get(need) ?? []);
  const [lack] = [...lacks.filter(({ isFault }) => !isFault), ...lacks];
  if (lack === undefined) return undefined;
  return lack.isFault ? failedUntried(lack.reason) : { kind: "skipped", reason: lack.reason };
}

function stopped(silent: number, end: number): Outcome | undefined {
  if (silent >= MAX_SILENT) {
    const reason = `not tried: ${MAX_SILENT} cases running were not answered in time`;
    return failedUntried(reason, true);
  }
  return performance.now() < end ? undefined : failedUntried("not tried: the time for all is up");
}

function failedUntried(reason: string, isSilence = false): Outcome {
  const nothing = { line: 0, request: "", expected: "", got: "", isSilence };
  return { kind: "failed", failure: { ...nothing, differences: [reason] } };
}

function boundedBy(end: number, { target }: SuiteOptions): Target {
  return { ...target, timeoutMs: Math.min(target.timeoutMs, end - performance.now()) };
}

function isSilence(outcome: Outcome): boolean {
  return outcome.kind === "failed" && outcome.failure.isSilence;
}

function judge(
  one: ConformanceCase,
  outcome: Outcome,
  { known, isStrict }: SuiteOptions,
  durationMs: number,
): CaseVerdict {
  const knownReason = known.get(one.name);
  const isAdvice = one.level === "should" && !isStrict;
  return {
    case: one,
    outcome,
    standing: standingOf(outcome, { isKnown: knownReason !== undefined, isAdvice }),
    knownReason,
    durationMs: Math.round(durationMs),
  };
}

function standingOf(
  { kind }: Outcome,
  { isKnown, isAdvice }: { readonly isKnown: boolean; readonly isAdvice: boolean },
): Standing {
  if (kind === "skipped") return "skipped";
  if (kind === "passed") return isKnown ? "no-longer-failing" : "passed";
  if (isKnown) return "known-failing";
  return isAdvice ? "advised" : "failed";
}
