/** How `agtp-manifest` shows what it found: line by line for a person, or as JSON. */
import pc from "picocolors";
import { isRecord } from "../../base/json-value.ts";
import { defuseLine, type Terminal } from "../shell/terminal.ts";
import type { ManifestCheck } from "./check-manifest.ts";
import { describeVerdict } from "./check-signature.ts";
import type { Finding } from "./findings.ts";

/** A manifest, checked; `check` is undefined where a server answered with something else. */
export interface ManifestReport {
  readonly source: string;
  readonly value: unknown;
  readonly check: ManifestCheck | undefined;
  readonly findings: readonly Finding[];
  readonly isValid: boolean;
}

/** Prints a report. */
export function printReport(report: ManifestReport, json: boolean, terminal: Terminal): void {
  const { out } = terminal;
  if (json) out.write(`${JSON.stringify(toJson(report), undefined, 2)}\n`);
  else printForPeople(report, terminal);
}

function toJson({ source, value, check, findings, isValid }: ManifestReport): object {
  const places = (severity: Finding["severity"]): readonly object[] =>
    findings
      .filter((finding) => finding.severity === severity)
      .map(({ pointer, clause, message }) => {
        return { pointer, clause: `AGTP-API §${clause}`, message };
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
    faults: places("fault"),
    warnings: places("warning"),
  };
}

function printForPeople(report: ManifestReport, { out }: Terminal): void {
  const { source, value, check, findings, isValid } = report;
  const colours = pc.createColors(out.hasColour);
  const paint = { fault: colours.red, warning: colours.yellow };
  const server = textAt(value, "server", "server_id");
  const version = textAt(value, "document_version");
  const subject = [server, version].filter((part) => part !== null).join(", ");
  out.write(`${defuseLine(source)}${subject === "" ? "" : `: ${defuseLine(subject)}`}\n`);
  for (const { severity, pointer, clause, message } of findings) {
    const place = pointer === "" ? "(the whole)" : defuseLine(pointer);
    const word = paint[severity](severity.padEnd(7));
    out.write(`  ${word}  ${place}  ${colours.dim(`§${clause}`)}  ${defuseLine(message)}\n`);
  }
  if (check !== undefined)
    out.write(`signature: ${defuseLine(describeVerdict(check.signature))}\n`);
  out.write(`${isValid ? colours.green("valid") : colours.red("not valid")}${counts(findings)}\n`);
}

function counts(findings: readonly Finding[]): string {
  const count = (severity: Finding["severity"]): number =>
    findings.filter((finding) => finding.severity === severity).length;
  const parts = [
    [count("fault"), "fault"],
    [count("warning"), "warning"],
  ] as const;
  const named = parts
    .filter(([number]) => number > 0)
    .map(([number, word]) => `${number} ${word}${number === 1 ? "" : "s"}`);
  return named.length === 0 ? "" : `: ${named.join(", ")}`;
}

function textAt(value: unknown, ...names: readonly string[]): string | null {
  const found = names.reduce<unknown>(
    (owner, name) => (isRecord(owner) && Object.hasOwn(owner, name) ? owner[name] : undefined),
    value,
  );
  return typeof found === "string" ? found : null;
}
