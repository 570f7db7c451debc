/** What `agtp-keys verify` found out about one file, check by check, and how it is shown. */
import pc from "picocolors";
import { defuseLine, type Output, type Terminal } from "../shell/terminal.ts";

/** How one check ended; `skipped` for want of what it needs, `warning` for what fails nothing. */
export type CheckOutcome = "ok" | "failed" | "skipped" | "warning";

/** One check. */
export interface Check {
  readonly check: string;
  readonly outcome: CheckOutcome;
  readonly message: string;
}

/** Everything about one file. */
export interface FileReport {
  readonly file: string;
  /** What it was taken for. */
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

/** Whether nothing failed. */
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
    const report = { ok: reports.every(hasPassed), files };
    out.write(`${JSON.stringify(report, undefined, 2)}\n`);
    return;
  }
  for (const report of reports) out.write(describeReport(report, out));
}

function describeReport({ file, kind, checks }: FileReport, { hasColour }: Output): string {
  const colours = pc.createColors(hasColour);
  const paint = {
    ok: colours.green,
    failed: colours.red,
    skipped: colours.dim,
    warning: colours.yellow,
  };
  const width = Math.max(...checks.map(({ check }) => check.length));
  const lines = checks.map(({ check, outcome, message }) => {
    const name = check.padEnd(width);
    return `  ${paint[outcome](outcome.padEnd(7))}  ${name}  ${defuseLine(message)}\n`;
  });
  return `${defuseLine(file)}: ${kind.replace("-", " ")}\n${lines.join("")}`;
}
