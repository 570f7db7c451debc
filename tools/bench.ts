#!/usr/bin/env node
/**
 * `npm run bench`: compares the daemon, a raw TLS echo, fastify and MCP's library, each in a
 * separate process on loopback, with one certificate. Absolute numbers vary between machines; the
 * ratios within a run are what counts. It reports without judging: exit 0 unless a measurement
 * failed.
 */
import { fileURLToPath } from "node:url";
import { type Command, command, type Options } from "../src/programs/shell/command.ts";
import { measureConsole } from "./bench/console-scenario.ts";
import { measureContracts } from "./bench/contract-scenario.ts";
import { measureDurability } from "./bench/durability-scenario.ts";
import { measureIdle } from "./bench/idle-scenario.ts";
import {
  measureAgents,
  measureConnections,
  measureEndpoints,
  measureThroughput,
} from "./bench/load-scenarios.ts";
import { measureMcp } from "./bench/mcp-scenario.ts";
import type { Timing } from "./bench/measure.ts";
import { measureNodes } from "./bench/node-scenario.ts";
import { measureProcesses } from "./bench/process-scenario.ts";
import { measureRecords } from "./bench/record-scenario.ts";
import { measureRefusals } from "./bench/refusal-scenario.ts";
import {
  currentLoad,
  describeMachine,
  formatSection,
  writeNumbers,
  writeReadme,
} from "./bench/report.ts";
import type { Row } from "./bench/row.ts";
import { createServerPool, type ServerPool } from "./bench/servers.ts";
import { measureSoak } from "./bench/soak-scenario.ts";
import { measureFirstCalls, measureStart, measureWarmth } from "./bench/start-scenarios.ts";
import { measureTraces } from "./bench/trace-scenario.ts";
import { measureWorkers } from "./bench/worker-scenario.ts";
import { runHere } from "./process-terminal.ts";
import { inScratch, makeCertificate } from "./scratch.ts";

const SCENARIOS = {
  throughput: measureThroughput,
  records: measureRecords,
  durability: measureDurability,
  connections: measureConnections,
  workers: measureWorkers,
  nodes: measureNodes,
  refusals: measureRefusals,
  endpoints: measureEndpoints,
  agents: measureAgents,
  contracts: measureContracts,
  mcp: measureMcp,
  processes: measureProcesses,
  console: measureConsole,
  traces: measureTraces,
  start: measureStart,
  first: measureFirstCalls,
  warm: measureWarmth,
  idle: measureIdle,
  soak: measureSoak,
} as const;

type ScenarioName = keyof typeof SCENARIOS;

const README = fileURLToPath(new URL("../../README.md", import.meta.url));
const NUMBERS = fileURLToPath(new URL("../../docs/numbers.md", import.meta.url));

const QUICK: Timing = {
  ...{ unmeasuredRounds: 1, rounds: 5, warmUpMs: 100, windowMs: 250 },
  ...{ idleConnections: 1_000, soakMs: 10_000 },
};
const FULL: Timing = {
  ...{ unmeasuredRounds: 2, rounds: 15, warmUpMs: 200, windowMs: 1_000 },
  ...{ idleConnections: 10_000, soakMs: 600_000 },
};

const OPTIONS = {
  "--quick": "shorter rounds: about a minute in all, and less exact",
  "--only <scenario>": { help: "", choices: Object.keys(SCENARIOS) },
  "--json": "the numbers as JSON on standard output",
  "--write": "write the tables into docs/numbers.md, and some rows into README.md",
} as const;

const PROGRAM: Command = command({
  name: "bench",
  description: "measures the daemon beside a raw TLS echo, fastify and MCP's library",
  options: OPTIONS,
  run,
});

async function run(options: Options<typeof OPTIONS>): Promise<undefined> {
  const timing = options.quick ? QUICK : FULL;
  const names = Object.keys(SCENARIOS) as ScenarioName[];
  const rows: Row[] = [];
  const sections = new Map<string, string>();
  let machine = describeMachine(currentLoad());
  for (const name of names.filter((one) => (options.only ?? one) === one)) {
    process.stderr.write(`measuring ${name}\n`);
    const loadBefore = currentLoad();
    const measured = await withServers((pool) => SCENARIOS[name](pool, timing));
    machine = describeMachine(loadBefore);
    rows.push(...measured);
    sections.set(name, formatSection(name, measured, machine));
    if (!options.json) process.stdout.write(`${sections.get(name)}\n`);
  }
  if (options.json) process.stdout.write(`${JSON.stringify({ machine, timing, rows })}\n`);
  if (options.write) writeReadme(README, writeNumbers(NUMBERS, sections, names), machine);
}

/** Each scenario gets its own servers and files, so that none inherits another's state. */
function withServers<T>(run: (pool: ServerPool) => Promise<T>): Promise<T> {
  return inScratch(async (directory) => {
    const pool = createServerPool(directory, await makeCertificate(directory));
    try {
      return await run(pool);
    } finally {
      await pool.closeAll();
    }
  });
}

await runHere(PROGRAM);
