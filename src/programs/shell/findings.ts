/**
 * Findings: what a program tells an operator is wrong or worth a look. Each program has its words for
 * them and its own JSON; bounding, counting and colours are the same.
 */
import pc from "picocolors";
import { describeProblem, type Problem } from "../../base/problem.ts";
import { defuseLine, type Output } from "./terminal.ts";

/** An error is serious, a warning should be looked at; a note is good to know. */
export type Severity = "error" | "warning" | "note";

export interface Finding {
  readonly severity: Severity;
  readonly rule: string;
  /** Relative to the deployment directory where it lies there; "" where there is only one, or none. */
  readonly file: string;
  /** Dotted key or JSON Pointer in the file; "" for the whole of it. */
  readonly key: string;
  /** Lower case, no full stop: what is so. */
  readonly message: string;
  /** Lower case, no full stop: what to do about it. */
  readonly hint?: string;
}

const SEVERITIES: readonly Severity[] = ["error", "warning", "note"];

/** The number of findings of each severity, the most serious first. */
export function countFindings(
  findings: readonly Pick<Finding, "severity">[],
): readonly (readonly [severity: Severity, count: number])[] {
  return SEVERITIES.map((severity) => {
    return [severity, findings.filter((finding) => finding.severity === severity).length];
  });
}

/** `2 errors`, `1 warning`: a text for each severity that there is, in a program's own words. */
export function describeCounts(
  findings: readonly Pick<Finding, "severity">[],
  words: Partial<Readonly<Record<Severity, string>>> = {},
): readonly string[] {
  return countFindings(findings)
    .filter(([, count]) => count > 0)
    .map(([severity, count]) => `${count} ${words[severity] ?? severity}${count === 1 ? "" : "s"}`);
}

/** The word that a line of a report begins with, in its column and colour. */
export function severityMark(
  severity: Severity | "ok",
  { hasColour }: Output,
  word: string = severity,
): string {
  const { red, yellow, dim, green } = pc.createColors(hasColour);
  const paint = { error: red, warning: yellow, note: dim, ok: green };
  return paint[severity](word.padEnd(7));
}

/** Prints what the loaders say of files, a line each. */
export function printProblems(problems: readonly Problem[], err: Output, program = ""): void {
  const prefix = program === "" ? "" : `${program}: `;
  for (const problem of problems) err.write(`${prefix}${defuseLine(describeProblem(problem))}\n`);
}
