/**
 * The report for a person: for each clause the passed and failed cases, each failure with its
 * exchange, and an overview of the thirteen requirements.
 */

import pc from "picocolors";
import { clip } from "../../base/json-value.ts";
import { defuse, defuseLine, type Output } from "../shell/terminal.ts";
import { REQUIREMENTS, titleOf } from "./clauses.ts";
import {
  byClause,
  type CaseVerdict,
  countStandings,
  type Failure,
  type RunVerdict,
  STANDINGS,
  type Standing,
} from "./verdict.ts";

type Colours = ReturnType<typeof pc.createColors>;

const LABEL_WIDTH = 8;
/** The maximum number of lines of one message; the JSON report has the rest. */
const MAX_LINES = 60;
const MAX_LINE_LENGTH = 160;

/** The word before each case, with its colour. */
const MARKS = {
  passed: ["ok", "green"],
  failed: ["FAILED", "red"],
  advised: ["should", "yellow"],
  "known-failing": ["known", "dim"],
  "no-longer-failing": ["passes!", "yellow"],
  skipped: ["skipped", "dim"],
} as const satisfies Readonly<Record<Standing, readonly [string, keyof Colours]>>;

/** Formats the whole report for a terminal of any width. */
export function textReport(run: RunVerdict, { hasColour }: Pick<Output, "hasColour">): string {
  const colours = pc.createColors(hasColour);
  const parts = [
    headOf(run, colours),
    ...sectionsOf(run.verdicts, colours),
    requirementsOf(run.verdicts, colours),
    summaryOf(run.verdicts, colours),
  ];
  return `${parts.join("\n")}\n`;
}

function headOf({ uri, server }: RunVerdict, colours: Colours): string {
  const facts = [
    ["server", server.serverId],
    ["AGTP-API", server.apiVersion],
    ["catalog", server.catalogVersion],
  ].flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${defuseLine(value)}`]));
  return `${colours.bold(defuseLine(uri))}  ${facts.join(" · ")}\n`;
}

function sectionsOf(verdicts: readonly CaseVerdict[], colours: Colours): readonly string[] {
  const sections = byClause(verdicts);
  return Array.from(sections, ([clause, members]) => {
    const title = colours.bold(`§${clause}  ${titleOf(clause)}`);
    return `${title}\n${members.map((verdict) => caseOf(verdict, colours)).join("")}`;
  });
}

function caseOf(verdict: CaseVerdict, colours: Colours): string {
  const { case: one, standing, outcome, knownReason } = verdict;
  const [word, colour] = MARKS[standing];
  const label = colours[colour](word.padEnd(LABEL_WIDTH));
  const line = `  ${label}${one.name}  ${colours.dim(one.title)}\n`;
  const remarks = [
    ...(outcome.kind === "skipped" ? [outcome.reason] : []),
    ...(knownReason === undefined ? [] : [`known to fail: ${knownReason}`]),
  ];
  const shown = remarks.map((remark) => `          ${defuseLine(remark)}\n`).join("");
  const isShown = outcome.kind === "failed" && standing !== "known-failing";
  return line + shown + (isShown ? failureOf(outcome.failure, colours) : "");
}

function failureOf({ differences, request, expected, got }: Failure, colours: Colours): string {
  const lines = differences.map((difference) => `          ${defuseLine(difference)}\n`);
  const exchange = [
    ["sent", request],
    ["expected", expected],
    ["got", got],
  ].flatMap(([name = "", text = ""]) => (text === "" ? [] : [blockOf(name, text, colours)]));
  return colours.red(lines.join("")) + exchange.join("");
}

function blockOf(name: string, text: string, colours: Colours): string {
  const all = defuse(text.trimEnd()).split("\n");
  const lines = all.slice(0, MAX_LINES).map((line) => clip(line, MAX_LINE_LENGTH));
  if (all.length > MAX_LINES) lines.push("…");
  return `          ${colours.dim(name)}\n${lines.map((line) => `            ${line}\n`).join("")}`;
}

function requirementsOf(verdicts: readonly CaseVerdict[], colours: Colours): string {
  const lines = REQUIREMENTS.map((requirement, index) => {
    const number = index + 1;
    const own = verdicts.filter(({ case: one }) => one.requirements.includes(number));
    return `  ${String(number).padStart(2)}  ${requirement}: ${countsOf(own, colours)}\n`;
  });
  return `${colours.bold("§13.1  Requirements")}\n${lines.join("")}`;
}

function summaryOf(verdicts: readonly CaseVerdict[], colours: Colours): string {
  const cases = verdicts.length === 1 ? "1 case" : `${verdicts.length} cases`;
  return `${colours.bold(cases)}: ${countsOf(verdicts, colours)}`;
}

function countsOf(verdicts: readonly CaseVerdict[], colours: Colours): string {
  if (verdicts.length === 0) return colours.dim("nothing asked");
  const counts = countStandings(verdicts);
  return STANDINGS.filter((standing) => counts[standing] > 0)
    .map((standing) => {
      const words = standing.replaceAll("-", " ");
      return colours[MARKS[standing][1]](`${counts[standing]} ${words}`);
    })
    .join(", ");
}
