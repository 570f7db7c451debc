/** The report of `agtp-manifest`: line by line for a person, or as JSON. */
import pc from "picocolors";
import { textIn, valueAt } from "../../base/json-value.ts";
import { describeCounts, printJson, severityMark } from "../shell/findings.ts";
import { defuseLine, type Output, type Terminal } from "../shell/terminal.ts";
import type { ManifestCheck } from "./check-manifest.ts";
import { describeVerdict } from "./check-manifest.ts";
import type { ManifestFinding } from "./findings.ts";

/** A manifest, checked; `check` is undefined where a server answered with something else. */
interface ManifestReport {
  readonly source: string;
  readonly value: unknown;
  readonly check: ManifestCheck | undefined;
  readonly findings: readonly ManifestFinding[];
  readonly isValid: boolean;
}

/** The draft speaks of faults. */
const WORDS = { error: "fault", warning: "warning" } as const;

/** Prints a report. */
export function printReport(report: ManifestReport, json: boolean, { out }: Terminal): void {
  if (json) printJson(toJson(report), out);
  else printForPeople(report, out);
}

function toJson({ source, value, check, findings, isValid }: ManifestReport): object {
  const places = (wanted: ManifestFinding["severity"]): readonly object[] =>
    findings
      .filter(({ severity }) => severity === wanted)
      .map(({ key: pointer, rule, message }) => {
        return { pointer, clause: `AGTP-API §${rule}`, message };
      });
  const signature = check?.signature;
  return {
    ok: isValid,
    source,
    server_id: textAt(value, "server", "server_id"),
    document_version: textAt(value, "document_version"),
    catalog: check?.catalog ?? null,
    signature:
      signature === undefined
        ? null
        : {
            state: signature.kind,
            kid: "kid" in signature ? signature.kid : null,
            message: describeVerdict(signature),
          },
    faults: places("error"),
    warnings: places("warning"),
  };
}

function printForPeople(report: ManifestReport, out: Output): void {
  const { source, value, check, findings, isValid } = report;
  const { dim, green, red } = pc.createColors(out.hasColour);
  const server = textAt(value, "server", "server_id");
  const version = textAt(value, "document_version");
  const subject = [server, version].filter((part) => part !== null).join(", ");
  out.write(`${defuseLine(source)}${subject === "" ? "" : `: ${defuseLine(subject)}`}\n`);
  for (const { severity, key, rule, message } of findings) {
    const mark = severityMark(severity, out, WORDS[severity]);
    const place = key === "" ? "(the whole)" : defuseLine(key);
    out.write(`  ${mark}  ${place}  ${dim(`§${rule}`)}  ${defuseLine(message)}\n`);
  }
  if (check !== undefined)
    out.write(`signature: ${defuseLine(describeVerdict(check.signature))}\n`);
  const counts = describeCounts(findings, WORDS);
  const verdict = isValid ? green("valid") : red("not valid");
  out.write(`${[verdict, ...(counts.length === 0 ? [] : [counts.join(", ")])].join(": ")}\n`);
}

function textAt(value: unknown, ...names: readonly string[]): string | null {
  return textIn(valueAt(value, names)) ?? null;
}
