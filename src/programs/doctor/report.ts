/** How `agtpd doctor` shows what it found: findings with their remedies for a person, or JSON. */
import pc from "picocolors";
import { defuseLine, type Terminal } from "../shell/terminal.ts";
import type { Finding, Severity } from "./finding.ts";
import type { Examination } from "./run-checks.ts";

const SEVERITIES: readonly Severity[] = ["error", "warning", "note"];

/** Prints an examination of the deployment of a configuration file. */
export function printExamination(
  examination: Examination,
  config: string,
  json: boolean,
  terminal: Terminal,
): void {
  if (json) terminal.out.write(`${JSON.stringify(toJson(examination, config), undefined, 2)}\n`);
  else printForPeople(examination, config, terminal);
}

function toJson({ asked, findings, unasked }: Examination, config: string): object {
  const counts = SEVERITIES.map((severity) => [`${severity}s`, count(findings, severity)]);
  return {
    ok: unasked.length === 0 && findings.every(({ severity }) => severity === "note"),
    config,
    summary: { checks: asked.length, ...Object.fromEntries(counts), unasked: unasked.length },
    checks: asked.map(({ id, asks }) => ({ id, asks })),
    findings: findings.map(({ id, severity, file, key, message, remedy }) => {
      return { id, severity, file, key, message, remedy };
    }),
    unasked,
  };
}

function printForPeople(
  { asked, findings, unasked }: Examination,
  config: string,
  { out }: Terminal,
): void {
  const colours = pc.createColors(out.hasColour);
  const paint = { error: colours.red, warning: colours.yellow, note: colours.dim };
  for (const { severity, id, file, key, message, remedy } of findings) {
    const place = [file, key].filter((part) => part !== "").join(": ");
    const where = place === "" ? "" : `${defuseLine(place)}: `;
    out.write(`${paint[severity](severity.padEnd(7))}  ${where}${defuseLine(message)}\n`);
    out.write(`         ${colours.dim("->")} ${defuseLine(remedy)}  ${colours.dim(`[${id}]`)}\n`);
  }
  for (const { id, reason } of unasked) {
    out.write(`${colours.yellow("unasked")}  ${id}: ${defuseLine(reason)}\n`);
  }
  out.write(`${defuseLine(config)}: ${summary(asked.length, findings, unasked.length)}\n`);
}

function summary(checks: number, findings: readonly Finding[], unasked: number): string {
  const counts = SEVERITIES.flatMap((severity) => {
    const number = count(findings, severity);
    return number === 0 ? [] : [`${number} ${severity}${number === 1 ? "" : "s"}`];
  });
  const missed = unasked === 0 ? [] : [`${unasked} could not be asked`];
  const found = counts.length === 0 && unasked === 0 ? ["nothing found"] : [...counts, ...missed];
  return [`${checks} checks`, ...found].join(", ");
}

function count(findings: readonly Finding[], severity: Severity): number {
  return findings.filter((finding) => finding.severity === severity).length;
}
