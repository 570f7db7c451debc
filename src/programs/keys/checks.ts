/** The checks of one file by `agtp-keys verify`, and how they are shown. */
import { printJson, severityMark } from "../shell/findings.ts";
import { defuseLine, type Output, type Terminal } from "../shell/terminal.ts";

/**
 * The outcome of one check; `skipped` for want of what it needs, `warning` for what fails nothing.
 */
type CheckOutcome = "ok" | "failed" | "skipped" | "warning";

/** One check. */
export interface Check {
  readonly check: string;
  readonly outcome: CheckOutcome;
  readonly message: string;
}

/** Everything about one file. */
export interface FileReport {
  readonly file: string;
  /** The kind of file, by its content. */
  readonly kind:
    | "genesis"
    | "identity-document"
    | "agent-certificate"
    | "certificate-authority"
    | "private-key"
    | "public-key"
    | "attribution-records"
    | "manifest"
    | "unknown";
  readonly checks: readonly Check[];
}

/** Tells whether nothing failed. */
export function hasPassed({ checks }: FileReport): boolean {
  return checks.every(({ outcome }) => outcome !== "failed");
}

/** Prints reports for a person, or as JSON. */
export function printReports(
  reports: readonly FileReport[],
  json: boolean,
  { out }: Terminal,
): void {
  if (json) {
    const files = reports.map((report) => ({ ...report, ok: hasPassed(report) }));
    printJson({ ok: reports.every(hasPassed), files }, out);
    return;
  }
  for (const report of reports) out.write(describeReport(report, out));
}

/** The severities whose colours the outcomes have. */
const COLOURS = { ok: "ok", failed: "error", skipped: "note", warning: "warning" } as const;

function describeReport({ file, kind, checks }: FileReport, out: Output): string {
  const width = Math.max(...checks.map(({ check }) => check.length));
  const lines = checks.map(({ check, outcome, message }) => {
    const mark = severityMark(COLOURS[outcome], out, outcome);
    return `  ${mark}  ${check.padEnd(width)}  ${defuseLine(message)}\n`;
  });
  return `${defuseLine(file)}: ${kind.replace("-", " ")}\n${lines.join("")}`;
}
