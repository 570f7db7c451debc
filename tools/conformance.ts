#!/usr/bin/env node
/**
 * `npm run conformance`: runs the conformance cases against this project's own daemon, under enough
 * configurations to run every case. Exits 0 if none failed and each passed at least once.
 */
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Daemon, startDaemon } from "../src/app/daemon.ts";
import { createLog } from "../src/base/log.ts";
import { formatProblem } from "../src/base/problem.ts";
import { conformanceProgram } from "../src/programs/conformance/command.ts";
import { keysProgram } from "../src/programs/keys/command.ts";
import { type Command, command } from "../src/programs/shell/command.ts";
import { runProgram } from "../src/programs/shell/run-program.ts";
import type { Output } from "../src/programs/shell/terminal.ts";
import { runHere } from "./process-terminal.ts";
import { inScratch } from "./scratch.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FIXTURE = join(ROOT, "test/exchanges/deployment");
const RUNS = join(ROOT, "test/conformance/runs.json");

/** One configuration of the fixture, and the identity of the caller. */
interface Run {
  /** "" is the default one. */
  readonly config: string;
  readonly args: readonly string[];
}

/** The members of the program's report that are used. */
interface Report {
  readonly conforming: boolean;
  readonly summary: Readonly<Record<string, number>>;
  readonly cases: readonly { readonly name: string; readonly outcome: string }[];
}

async function runAll(): Promise<boolean> {
  const runs = JSON.parse(readFileSync(RUNS, "utf8")) as readonly Run[];
  const names = new Set<string>();
  const passed = new Set<string>();
  let isConforming = true;
  for (const run of runs) {
    const { conforming, summary, cases } = await runOnce(run);
    isConforming &&= conforming;
    const counts = Object.entries(summary).filter(([, count]) => count > 0);
    const text = counts.map(([name, count]) => `${count} ${name.replaceAll("_", " ")}`).join(", ");
    console.log(`${(run.config || "default").padEnd(12)}  ${text}`);
    for (const { name, outcome } of cases) {
      names.add(name);
      if (outcome === "passed") passed.add(name);
      if (outcome === "failed") console.log(`  failed: ${name}`);
    }
  }
  console.log(`${passed.size} of ${names.size} cases passed, in one configuration or another`);
  for (const name of names) if (!passed.has(name)) console.log(`  never passed: ${name}`);
  return isConforming && passed.size === names.size;
}

/** Runs a copy of the fixture, so that nothing is written into the original. */
function runOnce({ config, args }: Run): Promise<Report> {
  return inScratch(async (directory) => {
    cpSync(FIXTURE, directory, { recursive: true });
    await captured(keysProgram, ["signing"], directory);
    const file = config === "" ? "agtp-server.toml" : `agtp-server.${config}.toml`;
    const daemon = await start(join(directory, file));
    try {
      const uri = `agtp://localhost:${daemon.port}`;
      return await ask(directory, [uri, ...args]);
    } finally {
      await daemon.drain();
    }
  });
}

async function start(configPath: string): Promise<Daemon> {
  const log = createLog("error", { write: () => {}, flush: () => Promise.resolve() });
  const started = await startDaemon({ configPath, port: 0, env: {}, log });
  if (started.kind === "started") return started.daemon;
  throw new Error(started.problems.map(formatProblem).join("\n"));
}

async function ask(directory: string, args: readonly string[]): Promise<Report> {
  const proposal = join(ROOT, "test/conformance/stay.proposal.json");
  const catalog = join(FIXTURE, "catalog/methods.json");
  const own = ["--proposal", proposal, "--catalog", catalog, "--allow-state-changes", "--json"];
  return JSON.parse(await captured(conformanceProgram, [...args, ...own], directory)) as Report;
}

/** Captures the output of a program, which uses the daemon's generated certificate. */
async function captured(
  program: Command,
  args: readonly string[],
  directory: string,
): Promise<string> {
  const pieces: string[] = [];
  const still = { isTerminal: false, hasColour: false };
  const out: Output = { ...still, write: (text) => void pieces.push(text) };
  const err: Output = { ...still, write: (text) => void process.stderr.write(text) };
  const readInput = (): Promise<string> => Promise.resolve("");
  const streams = { input: process.stdin, output: process.stdout };
  const terminal = { out, err, directory, environment: {}, readInput, streams };
  const exitCode = await runProgram(program, args, terminal);
  if (exitCode === 2) throw new Error("the daemon could not be asked");
  return pieces.join("");
}

await runHere(
  command({
    name: "conformance",
    description:
      "runs the conformance cases against daemons of this project, each configured its own way",
    run: runAll,
  }),
);
