/** The report of a run: a Markdown table, for a terminal and for the README. */
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

/** The machine, with its load now; `loadBefore` is that of the run's start. */
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

/** The rows as a Markdown table, goals in the last column. */
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
  const head = [
    "| | raw `node:tls` echo | fastify 5 | MCP's library | agtpd | agtpd against goal |",
  ];
  return [...head, "|---|---:|---:|---:|---:|---|", ...lines].join("\n");
}

/** The table with the line that says where the numbers come from. */
export function formatReport(rows: readonly Row[], machine: Machine): string {
  const { node, cpu, cores, loadBefore, loadAfter } = machine;
  const load = `load ${loadBefore} before and ${loadAfter} after`;
  return `${formatTable(rows)}\n\nMedians; Node ${node}, ${cores} cores of ${cpu}, ${load}.\n`;
}

/** Replaces what stands between the README's markers; of one scenario, its rows alone. */
export function writeReadme(file: string, report: string, scenario?: string): void {
  const text = readFileSync(file, "utf8");
  if (!MARKED.test(text)) throw new Error(`${file}: expected a <!-- bench --> marker`);
  const written = text.replace(MARKED, (_, open: string, known: string, close: string) => {
    return open + (scenario === undefined ? report : withScenario(known, report, scenario)) + close;
  });
  writeFileSync(file, written);
}

/** A report with the rows of another one in the place of those that are called alike, or behind the last. */
function withScenario(known: string, report: string, scenario: string): string {
  const rows = [...report.matchAll(ROW)];
  const kept = known.split("\n").filter((line) => !line.startsWith(`Of ${scenario}: `));
  const labels = new Set(rows.map(([, label]) => label));
  const others = kept.filter((line) => !labels.has(labelOf(line)));
  const last = others.findLastIndex((line) => line.startsWith("|"));
  const machine = report.trimEnd().split("\n").at(-1) ?? "";
  const table = [...others.slice(0, last + 1), ...rows.map(([line]) => line)];
  const rest = others
    .slice(last + 1)
    .join("\n")
    .trimEnd();
  return `${table.join("\n")}\n${rest}\n\nOf ${scenario}: ${machine}\n`;
}

/** A line of a table, and its first cell. */
const ROW = /^\| ([^|]+?) \|.*$/gm;

function labelOf(line: string): string | undefined {
  return /^\| ([^|]+?) \|/.exec(line)?.[1];
}

function formatNumber(value: number | undefined, row: Row): string {
  if (value === undefined) return "";
  if (row.unit === "µs" && value < 100) return value.toFixed(1);
  return Math.round(value).toLocaleString("en-US");
}
