#!/usr/bin/env node
/**
 * `npm run conformance`: runs the conformance cases against this project's own daemon, under as many
 * configurations as it takes for every case to be asked. Exits 0 when none failed and none was left out.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Output, Terminal } from "../src/client/terminal.ts";
import { runConformance } from "../src/conformance/command.ts";
import { runKeysCommand } from "../src/keys/command.ts";
import { formatProblem } from "../src/problem.ts";
import { startDaemon } from "../src/server/daemon.ts";
import { createLog } from "../src/server/log.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FIXTURE = join(ROOT, "test/exchanges/deployment");
const PROPOSAL = join(ROOT, "test/conformance/stay.proposal.json");
const RUNS = JSON.parse(
  readFileSync(join(ROOT, "test/conformance/runs.json"), "utf8"),
) as readonly Run[];

/** One configuration of the fixture, and who asks. */
interface Run {
  /** "" is the default one. */
  readonly config: string;
  readonly args: readonly string[];
}

interface JsonReport {
  readonly conforming: boolean;
  readonly summary: Readonly<Record<string, number>>;
  readonly cases: readonly { readonly name: string; readonly outcome: string }[];
}

async function main(): Promise<number> {
  const outcomes = new Map<string, Set<string>>();
  let hasFailed = false;
  for (const run of RUNS) {
    const { report, text } = await runOnce(run);
    const { passed, failed, skipped, advised } = report.summary;
    const counts = `${passed} passed, ${failed} failed, ${advised} advised, ${skipped} skipped`;
    console.log(`${(run.config || "default").padEnd(12)}  ${counts}`);
    if (!report.conforming) console.log(text);
    hasFailed ||= !report.conforming;
    for (const { name, outcome } of report.cases) {
      outcomes.set(name, (outcomes.get(name) ?? new Set()).add(outcome));
    }
  }
  const missed = [...outcomes].filter(([, seen]) => !seen.has("passed")).map(([name]) => name);
  console.log(`${outcomes.size} cases, ${outcomes.size - missed.length} of them passed`);
  for (const name of missed) console.log(`never passed: ${name}`);
  return hasFailed || missed.length > 0 ? 1 : 0;
}

async function runOnce({ config, args }: Run): Promise<{ report: JsonReport; text: string }> {
  const directory = mkdtempSync(join(tmpdir(), "agtp-conformance-"));
  cpSync(FIXTURE, directory, { recursive: true });
  const file = config === "" ? "agtp-server.toml" : `agtp-server.${config}.toml`;
  const log = createLog("error", { write: () => {}, flush: () => Promise.resolve() });
  try {
    await captured(["signing"], directory, runKeysCommand);
    const started = await startDaemon({ configPath: join(directory, file), port: 0, env: {}, log });
    if (started.kind === "refused") throw new Error(started.problems.map(formatProblem).join("\n"));
    const { daemon } = started;
    try {
      const own = [
        "--proposal",
        PROPOSAL,
        "--allow-state-changes",
        "--catalog",
        join(FIXTURE, "catalog/methods.json"),
      ];
      const line = [`agtp://localhost:${daemon.port}`, ...args, ...own];
      const text = await captured(line, directory);
      const json = await captured([...line, "--json"], directory);
      return { report: JSON.parse(json) as JsonReport, text };
    } finally {
      await daemon.drain();
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

type Program = typeof runConformance;

/** What a program prints; the daemon's own certificate is found where the daemon put it. */
async function captured(
  args: readonly string[],
  directory: string,
  program: Program = runConformance,
): Promise<string> {
  let text = "";
  const out: Output = {
    write: (piece) => void (text += piece),
    isTerminal: false,
    hasColour: false,
  };
  const err: Output = { ...out, write: (piece) => console.error(piece) };
  const terminal: Terminal = { out, err, directory, readInput: () => Promise.resolve("") };
  const exitCode = await program(args, terminal);
  if (exitCode === 2) throw new Error("the daemon could not be asked");
  return text;
}

process.exitCode = await main();
