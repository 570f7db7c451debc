/**
 * The report for people: the changes, whether the version reflects them, the conflicts with their
 * places, and the remedies.
 */
import pc from "picocolors";
import { clip } from "../../base/json-value.ts";
import { isError } from "../../base/problem.ts";
import type { Catalog, Verb } from "../../catalog/catalog.ts";
import { defuse, defuseLine, type Output } from "../shell/terminal.ts";
import {
  type CatalogDiff,
  type ChangedVerb,
  type SectionDiff,
  successorOf,
  type VersionVerdict,
} from "./catalog-diff.ts";
import type { Conflict, ConflictGroup, Notice } from "./conflict.ts";
import type { DeploymentReport, DiffReport, FixOutcome, NamedCatalog } from "./diff-report.ts";
import type { FixPlan } from "./fix-plan.ts";
import type { Reference } from "./reference.ts";
import type { Scan } from "./scan.ts";

type Colours = ReturnType<typeof pc.createColors>;

/** A group of lines under one heading; an empty one is not printed. */
type Section = readonly [heading: string, lines: readonly string[]];

function writeSections(sections: readonly Section[], out: Output): void {
  const { bold } = pc.createColors(out.hasColour);
  for (const [heading, lines] of sections) {
    if (lines.length === 0) continue;
    out.write(`\n${bold(heading)} (${lines.length})\n`);
    for (const line of lines) out.write(`  ${line}\n`);
  }
}

/** Prints the changes between the catalogs, and the verdict on their versions. */
export function printCatalogs(
  { older, newer, diff, verdict }: Pick<DiffReport, "older" | "newer" | "diff" | "verdict">,
  out: Output,
): void {
  const colours = pc.createColors(out.hasColour);
  out.write(`${describe(older)} -> ${describe(newer)}\n`);
  printVerdict(verdict, colours, out);
  writeSections(changesIn(diff, older.catalog, newer.catalog, colours), out);
}

function describe({ file, catalog: { version, verbs } }: NamedCatalog): string {
  return defuseLine(`${file} (${version}, ${verbs.size} methods)`);
}

function printVerdict(verdict: VersionVerdict, colours: Colours, out: Output): void {
  const { raised, needed, faults, notes } = verdict;
  const judged = `raised: ${raised}, needed: ${needed}`;
  const word = faults.length === 0 ? colours.green("ok") : colours.red("the publisher's error");
  out.write(`semver: ${word} (${judged})\n`);
  for (const fault of faults) out.write(`  ${colours.red("error:")} ${defuseLine(fault)}\n`);
  for (const note of notes) out.write(`  ${colours.yellow("note:")} ${defuseLine(note)}\n`);
}

function changesIn(
  diff: CatalogDiff,
  older: Catalog,
  newer: Catalog,
  { green, red, yellow, dim }: Colours,
): readonly Section[] {
  const announced = ({ newer: verb }: ChangedVerb): string =>
    `${yellow(`! ${verb.name}`)}  ${announcement(verb)}`;
  const removed = ({ name }: Verb): string =>
    `${red(`- ${name}`)}  ${wayOut(successorOf(name, older, newer))}`;
  const recategorised = (pair: ChangedVerb): string => {
    const [before, after] = [pair.older, pair.newer].map((verb) => verb.categories.join(", "));
    return `~ ${pair.newer.name}  ${before} -> ${after}`;
  };
  const redescribed = ({ newer: { name, description } }: ChangedVerb): string =>
    `~ ${name}  ${dim(text(description))}`;
  return [
    ["Added", diff.added.map((one) => `${green(`+ ${one.name}`)}  ${text(one.description)}`)],
    ["Removed", diff.removed.map(removed)],
    ["Newly deprecated", diff.deprecated.map(announced)],
    ["No longer deprecated", diff.undeprecated.map((pair) => green(`+ ${pair.newer.name}`))],
    ["Deprecation changed", diff.redated.map(announced)],
    ["Re-categorised", diff.recategorised.map(recategorised)],
    ["Described in other words", diff.redescribed.map(redescribed)],
    ["Legacy verbs", sectionLines(diff.legacy, "->")],
    ["Legacy verbs in other words", sectionLines(diff.legacyTexts, ":")],
    ["Categories", sectionLines(diff.categories, ":")],
  ];
}

function announcement({ deprecatedIn, removedIn, successor }: Verb): string {
  const parts = [
    deprecatedIn === undefined ? "not deprecated" : `in ${deprecatedIn}`,
    ...(removedIn === undefined ? [] : [`to be removed in ${removedIn}`]),
    wayOut(successor),
  ];
  return parts.join(", ");
}

function wayOut(successor: string | undefined): string {
  return successor === undefined ? "no successor is named" : `use ${successor}`;
}

function sectionLines({ added, removed, changed }: SectionDiff, arrow: string): readonly string[] {
  return [
    ...added.map((name) => `+ ${text(name)}`),
    ...removed.map((name) => `- ${text(name)}`),
    ...changed.map(({ name, newer }) => `~ ${text(`${name} ${arrow} ${newer}`)}`),
  ];
}

/** Makes text of an untrusted catalog safe to display. */
function text(value: string): string {
  return clip(defuseLine(value), 100);
}

const HEADINGS: Readonly<Record<ConflictGroup, string>> = {
  "path-grammar": "Path-grammar conflicts",
  endpoint: "Endpoint conflicts",
  recipe: "Recipe conflicts",
  policy: "Policy conflicts",
};

/** Prints the conflicts and notices, and a summary line. */
export function printDeployment({ directory, scan }: DeploymentReport, out: Output): void {
  const colours = pc.createColors(out.hasColour);
  out.write(`\n${colours.bold(`Deployment ${defuseLine(directory)}`)}\n`);
  const conflicts = Object.entries(HEADINGS).map(([group, heading]): Section => {
    const members = scan.conflicts.filter((conflict) => conflict.group === group);
    return [heading, members.map((one) => conflictLine(one, scan, out))];
  });
  const notices = (kind: Notice["kind"]): readonly string[] =>
    scan.notices.filter((one) => one.kind === kind).map((one) => noticeLine(one, scan, out));
  writeSections(
    [
      ...conflicts,
      ["Deprecated, and still served", notices("deprecated")],
      ["Unknown before as well", notices("unknown")],
    ],
    out,
  );
  const count = scan.conflicts.length;
  const things = count === 1 ? "1 place breaks" : `${count} places break`;
  const summary = count === 0 ? colours.green("nothing breaks") : colours.red(things);
  const isPartial = scan.problems.some(isError);
  const isUnread = scan.texts.files.length === 0;
  if (isUnread) out.write("\nnothing could be read\n");
  else out.write(`\n${summary}${isPartial ? ", in what could be read" : ""}\n`);
}

/** Prints the planned changes like `diff`, and the refused ones. */
export function printPlan({ fixes, refused }: FixPlan, scan: Scan, out: Output): void {
  const { green, red, bold } = pc.createColors(out.hasColour);
  const paint = (line: string): string => {
    if (/^(?:---|\+\+\+|@@) /.test(line)) return bold(line);
    if (line.startsWith("-")) return red(line);
    return line.startsWith("+") ? green(line) : line;
  };
  for (const { source, after } of fixes) {
    for (const line of unifiedDiff(source.file, source.text, after)) {
      out.write(`${paint(out.isTerminal ? defuse(line) : line)}\n`);
    }
  }
  const lines = refused.map(({ conflict, reason }) => {
    return `${place(conflict.reference, scan)}  ${conflict.method}: ${defuseLine(reason)}`;
  });
  writeSections([["Left to a person", lines]], out);
}

/** Prints the outcome of a plan. */
export function printOutcome({ isDryRun, plan, written, failed }: FixOutcome, err: Output): void {
  for (const { file, reason } of failed) {
    err.write(`agtp-catalog-diff: ${defuseLine(file)}: ${defuseLine(reason)}\n`);
  }
  const files = (count: number): string => (count === 1 ? "1 file" : `${count} files`);
  if (isDryRun) err.write(`dry run: ${files(plan.fixes.length)} would be written\n`);
  else err.write(`${files(written.length)} written\n`);
}

function conflictLine(conflict: Conflict, scan: Scan, out: Output): string {
  const { red, dim } = pc.createColors(out.hasColour);
  const { reference, message, remedy, effect } = conflict;
  const where = `${place(reference, scan)}  ${dim(defuseLine(reference.key))}`;
  return `${red("x")} ${where}\n      ${defuseLine(message)} [${effect}]\n      -> ${defuseLine(remedy)}`;
}

function noticeLine(notice: Notice, scan: Scan, out: Output): string {
  const { yellow, dim } = pc.createColors(out.hasColour);
  const { reference, message, successor } = notice;
  const where = `${place(reference, scan)}  ${dim(defuseLine(reference.key))}`;
  const wayOut = successor === undefined ? "" : `, use ${successor}`;
  return `${yellow("!")} ${where}\n      ${defuseLine(message)}${wayOut}`;
}

/** `endpoints/book.toml:2`, a form that editors accept. */
function place(reference: Reference, scan: Scan): string {
  const line = scan.placeOf(reference)?.line;
  const { file } = reference.source;
  return defuseLine(line === undefined ? file : `${file}:${line}`);
}

/**
 * The lines that differ between two texts, with a head that names the file, like `diff -U0` and
 * usable by `patch`. Only for changes that keep the number of lines.
 */
function unifiedDiff(file: string, before: string, after: string): readonly string[] {
  const newer = after.split("\n");
  const hunks = before.split("\n").flatMap((line, index) => {
    const changed = newer[index] ?? "";
    if (line === changed) return [];
    return [`@@ -${index + 1} +${index + 1} @@`, `-${line}`, `+${changed}`];
  });
  return [`--- ${file}`, `+++ ${file}`, ...hunks.map((line) => line.replace(/\r$/, ""))];
}
