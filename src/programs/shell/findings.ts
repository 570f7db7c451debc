/**
 * Findings: problems and remarks that a program reports to an operator. Programs have their own
 * wording and JSON; bounds, counts and colours are shared.
 */
import pc from "picocolors";
import { describeProblem, type Problem } from "../../base/problem.ts";
import { defuseLine, type Output } from "./terminal.ts";

/** An error is serious, a warning needs attention, a note is information. */
export type Severity = "error" | "warning" | "note";

export interface Finding {
  readonly severity: Severity;
  readonly rule: string;
  /** Relative to the deployment directory if it is inside; "" if there is only one file, or none. */
  readonly file: string;
  /** Dotted key or JSON Pointer in the file; "" for the whole file. */
  readonly key: string;
  /** The fact, in lower case without a full stop. */
  readonly message: string;
  /** The remedy, in lower case without a full stop. */
  readonly hint?: string;
}

const SEVERITIES: readonly Severity[] = ["error", "warning", "note"];

/** Counts findings by severity, most serious first. */
export function countFindings(
  findings: readonly Pick<Finding, "severity">[],
): readonly (readonly [severity: Severity, count: number])[] {
  return SEVERITIES.map((severity) => {
    return [severity, findings.filter((finding) => finding.severity === severity).length];
  });
}

/** `2 errors`, `1 warning`: a text for each severity that occurs, in a program's own words. */
export function describeCounts(
  findings: readonly Pick<Finding, "severity">[],
  words: Partial<Readonly<Record<Severity, string>>> = {},
): readonly string[] {
  return countFindings(findings)
    .filter(([, count]) => count > 0)
    .map(([severity, count]) => `${count} ${words[severity] ?? severity}${count === 1 ? "" : "s"}`);
}

/** The word at the beginning of a report's line, padded and coloured. */
export function severityMark(
  severity: Severity | "ok",
  { hasColour }: Output,
  word: string = severity,
): string {
  const { red, yellow, dim, green } = pc.createColors(hasColour);
  const paint = { error: red, warning: yellow, note: dim, ok: green };
  return paint[severity](word.padEnd(7));
}

/** Prints problems of files, one per line. */
export function printProblems(problems: readonly Problem[], err: Output, program = ""): void {
  const prefix = program === "" ? "" : `${program}: `;
  for (const problem of problems) err.write(`${prefix}${defuseLine(describeProblem(problem))}\n`);
}
