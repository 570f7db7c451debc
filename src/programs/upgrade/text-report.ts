/** The report for people: what changed, whether the version says so, and what breaks where. */
import pc from "picocolors";
import type { Catalog, Verb } from "../../catalog/catalog.ts";
import { defuseLine, type Output } from "../shell/terminal.ts";
import { type CatalogDiff, type SectionDiff, successorOf } from "./catalog-diff.ts";
import type { DiffReport, NamedCatalog } from "./diff-report.ts";
import type { VersionVerdict } from "./version-verdict.ts";

type Colours = ReturnType<typeof pc.createColors>;

/** A group of lines under one heading; nothing is shown of an empty one. */
export interface Section {
  readonly heading: string;
  readonly lines: readonly string[];
}

/** Shows sections, each with the number of its lines. */
export function writeSections(sections: readonly Section[], out: Output): void {
  const { bold } = pc.createColors(out.hasColour);
  for (const { heading, lines } of sections) {
    if (lines.length === 0) continue;
    out.write(`\n${bold(heading)} (${lines.length})\n`);
    for (const line of lines) out.write(`  ${line}\n`);
  }
}

/** Shows what changed between the catalogs, and the verdict on their versions. */
export function printCatalogs(
  { older, newer, diff, verdict }: Pick<DiffReport, "older" | "newer" | "diff" | "verdict">,
  out: Output,
): void {
  const colours = pc.createColors(out.hasColour);
  out.write(`${describe(older)} -> ${describe(newer)}\n`);
  printVerdict(verdict, colours, out);
  const methods = methodSections(diff, older.catalog, newer.catalog, colours);
  writeSections([...methods, ...wordSections(diff, colours)], out);
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

function methodSections(
  diff: CatalogDiff,
  older: Catalog,
  newer: Catalog,
  colours: Colours,
): readonly Section[] {
  const { green, red, yellow } = colours;
  const name = ({ name: method }: Verb): string => method;
  return [
    {
      heading: "Added",
      lines: diff.added.map((verb) => `${green(`+ ${name(verb)}`)}  ${text(verb.description)}`),
    },
    {
      heading: "Removed",
      lines: diff.removed.map(
        (verb) => `${red(`- ${name(verb)}`)}  ${wayOut(successorOf(verb.name, older, newer))}`,
      ),
    },
    {
      heading: "Newly deprecated",
      lines: diff.deprecated.map(
        (pair) => `${yellow(`! ${name(pair.newer)}`)}  ${announcement(pair.newer)}`,
      ),
    },
    {
      heading: "No longer deprecated",
      lines: diff.undeprecated.map((pair) => green(`+ ${name(pair.newer)}`)),
    },
    {
      heading: "Deprecation changed",
      lines: diff.redated.map(
        (pair) => `${yellow(`! ${name(pair.newer)}`)}  ${announcement(pair.newer)}`,
      ),
    },
  ];
}

function wordSections(diff: CatalogDiff, { dim }: Colours): readonly Section[] {
  return [
    {
      heading: "Re-categorised",
      lines: diff.recategorised.map(
        ({ older: before, newer: after }) =>
          `~ ${after.name}  ${before.categories.join(", ")} -> ${after.categories.join(", ")}`,
      ),
    },
    {
      heading: "Described in other words",
      lines: diff.redescribed.map(
        (pair) => `~ ${pair.newer.name}  ${dim(text(pair.newer.description))}`,
      ),
    },
    { heading: "Legacy verbs", lines: sectionLines(diff.legacy, "->") },
    { heading: "Legacy verbs in other words", lines: sectionLines(diff.legacyTexts, ":") },
    { heading: "Categories", lines: sectionLines(diff.categories, ":") },
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

/** A line of a catalog is a stranger's. */
function text(value: string): string {
  const line = defuseLine(value);
  return line.length > 100 ? `${line.slice(0, 99)}…` : line;
}
