/** The report of `agtpd doctor`: findings with their remedies for a person, or JSON. */
import pc from "picocolors";
import { countFindings, describeCounts, printJson, severityMark } from "../shell/findings.ts";
import { defuseLine, type Output } from "../shell/terminal.ts";
import type { Examination } from "./run-checks.ts";

/** Prints an examination of the deployment of a configuration file. */
export function printExamination(
  examination: Examination,
  config: string,
  json: boolean,
  out: Output,
): void {
  if (json) printJson(toJson(examination, config), out);
  else printForPeople(examination, config, out);
}

function toJson({ asked, findings, unasked }: Examination, config: string): object {
  const counts = countFindings(findings).map(([severity, count]) => [`${severity}s`, count]);
  return {
    ok: unasked.length === 0 && findings.every(({ severity }) => severity === "note"),
    config,
    summary: { checks: asked.length, ...Object.fromEntries(counts), unasked: unasked.length },
    checks: asked.map(({ id, asks }) => ({ id, asks })),
    findings: findings.map(({ rule: id, severity, file, key, message, hint: remedy }) => {
      return { id, severity, file, key, message, remedy };
    }),
    unasked,
  };
}

function printForPeople(
  { asked, findings, unasked }: Examination,
  config: string,
  out: Output,
): void {
  const { dim, yellow } = pc.createColors(out.hasColour);
  for (const { severity, rule, file, key, message, hint = "" } of findings) {
    const place = [file, key].filter((part) => part !== "").join(": ");
    const where = place === "" ? "" : `${defuseLine(place)}: `;
    out.write(`${severityMark(severity, out)}  ${where}${defuseLine(message)}\n`);
    out.write(`         ${dim("->")} ${defuseLine(hint)}  ${dim(`[${rule}]`)}\n`);
  }
  for (const { id, reason } of unasked) {
    out.write(`${yellow("unasked")}  ${id}: ${defuseLine(reason)}\n`);
  }
  const missed = unasked.length === 0 ? [] : [`${unasked.length} could not be asked`];
  const found = [...describeCounts(findings), ...missed];
  const summary = [`${asked.length} checks`, ...(found.length === 0 ? ["nothing found"] : found)];
  out.write(`${defuseLine(config)}: ${summary.join(", ")}\n`);
}
