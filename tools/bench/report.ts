/** The report of a run: a Markdown table for each scenario, for the terminal, the page of numbers and the README. */
import { readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import type { Row } from "./row.ts";

const MARKED = /(<!-- bench -->\n)([\s\S]*?)(<!-- \/bench -->)/;

/** The machine that the numbers were measured on. */
export interface Machine {
  readonly node: string;
  readonly cpu: string;
  readonly cores: number;
  readonly loadBefore: number;
  readonly loadAfter: number;
}

/** Describes the machine and its current load; `loadBefore` is the load at the run's start. */
export function describeMachine(loadBefore: number): Machine {
  const cores = cpus();
  return {
    node: process.version,
    cpu: cores[0]?.model.trim() ?? "unknown",
    cores: cores.length,
    loadBefore,
    loadAfter: currentLoad(),
  };
}

/** The load average of the last minute. */
export function currentLoad(): number {
  return Math.round((loadavg()[0] ?? 0) * 100) / 100;
}

/** Formats rows as a Markdown table, with goals in the last column. */
export function formatTable(rows: readonly Row[]): string {
  const lines = rows.map((row) => {
    const numbers = [row.raw, row.fastify, row.library, row.agtpd].map((value) =>
      formatNumber(value, row),
    );
    const goals = row.goals.map(
      ({ measured, bound, isMet }) =>
        `${measured} (${isMet === false ? "**missed** " : ""}${bound})`,
    );
    return `| ${[`${row.label}, ${row.unit}`, ...numbers, goals.join(", ")].join(" | ")} |`;
  });
  return [...HEAD, ...lines].join("\n");
}

const HEAD: readonly string[] = [
  "| | raw `node:tls` echo | fastify 5 | MCP's library | agtpd | agtpd against goal |",
  "|---|---:|---:|---:|---:|---|",
];

/** Formats a scenario's table, with a line on the origin of the numbers. */
export function formatSection(name: string, rows: readonly Row[], machine: Machine): string {
  const { node, cpu, cores, loadBefore, loadAfter } = machine;
  const load = `load ${loadBefore} before and ${loadAfter} after`;
  const from = `Medians; Node ${node}, ${cores} cores of ${cpu}, ${load}.`;
  return `### ${name}\n\n${formatTable(rows)}\n\n${from}\n`;
}

/**
 * Replaces the sections of the same names between the markers of the page of numbers, and returns
 * all its sections, in the order of `names`.
 */
export function writeNumbers(
  file: string,
  measured: ReadonlyMap<string, string>,
  names: readonly string[],
): ReadonlyMap<string, string> {
  const known = (MARKED.exec(readFileSync(file, "utf8"))?.[2] ?? "").split(/^(?=### )/m);
  const before = new Map(known.map((text) => [/^### (.+)$/m.exec(text)?.[1], text.trimEnd()]));
  const sections = new Map(
    names.flatMap((name) => {
      const text = measured.get(name) ?? before.get(name);
      return text === undefined ? [] : [[name, text.trimEnd()] as const];
    }),
  );
  replaceMarked(file, `${[...sections.values()].join("\n\n")}\n`);
  return sections;
}

/** The rows that the README shows, by scenario and the beginning of the row. */
const HEADLINES: readonly (readonly [scenario: string, label: string])[] = [
  ["throughput", "16 connections, 1 in flight each, as it is by default"],
  ["throughput", "the same: server CPU a request"],
  ["throughput", "the same: 99th percentile"],
  ["throughput", "the same without the request log"],
  ["throughput", "16 connections, 16 in flight each"],
  ["records", "with unsigned records, 16 x 1"],
  ["records", "with signed records, 16 x 16"],
  ["connections", "one new connection a request"],
  ["connections", "the same: server CPU a connection"],
  ["refusals", "refused with 459, each name another"],
  ["refusals", "refused with 404, each path another"],
  ["refusals", "refused with 422, each member another"],
  ["endpoints", "10,000 endpoints"],
  ["start", "start with 1,000 endpoints"],
  ["idle", "memory of an idle connection"],
];

/** Writes those rows to the README, with a link to the page of all numbers. */
export function writeReadme(
  file: string,
  sections: ReadonlyMap<string, string>,
  { node, cpu, cores }: Machine,
): void {
  const rows = HEADLINES.flatMap(([scenario, label]) => {
    const lines = sections.get(scenario)?.split("\n") ?? [];
    return lines.find((line) => line.startsWith(`| ${label}`)) ?? [];
  });
  const more = "all rows, and the machine's load: [docs/numbers.md](docs/numbers.md)";
  const from = `Medians; Node ${node}, ${cores} cores of ${cpu}; ${more}.`;
  replaceMarked(file, `${[...HEAD, ...rows].join("\n")}\n\n${from}\n`);
}

function replaceMarked(file: string, written: string): void {
  const text = readFileSync(file, "utf8");
  if (!MARKED.test(text)) throw new Error(`${file}: expected a <!-- bench --> marker`);
  writeFileSync(
    file,
    text.replace(MARKED, (_, open: string, _known, close: string) => open + written + close),
  );
}

function formatNumber(value: number | undefined, row: Row): string {
  if (value === undefined) return "";
  if (row.unit === "µs" && value < 100) return value.toFixed(1);
  return Math.round(value).toLocaleString("en-US");
}
