#!/usr/bin/env node
/**
 * `npm run conformance:mcp`: runs MCP's own conformance suite in both versions of the protocol,
 * against a daemon of this project and, through one, against a server behind it. Exits 0 if exactly
 * the scenarios fail for which docs/mcp-conformance.md gives a reason. npm fetches the suite, and
 * the newer Node that it needs, at run time.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { formatProblem } from "../src/base/problem.ts";
import { command } from "../src/programs/shell/command.ts";
import { SUBJECTS, type Subject, startSubject } from "./conformance-mcp/subject.ts";
import { runHere } from "./process-terminal.ts";
import { inScratch } from "./scratch.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const REASONS = join(ROOT, "docs/mcp-conformance.md");
const SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
const NODE = "node@22.23.3";
const VERSIONS = ["2026-07-28", "2025-11-25"] as const;

async function runAll(): Promise<number> {
  let code = 0;
  for (const subject of Object.values(SUBJECTS)) {
    code = Math.max(code, await inScratch((directory) => judge(subject, directory)));
  }
  return code;
}

async function judge(subject: Subject, directory: string): Promise<number> {
  const started = await startSubject(ROOT, subject, directory);
  if (started.kind === "refused") {
    process.stderr.write(`${started.problems.map(formatProblem).join("\n")}\n`);
    return 2;
  }
  const { daemon } = started;
  try {
    let isAsExpected = true;
    for (const version of VERSIONS) {
      const outcomes = await runSuite(`http://127.0.0.1:${daemon.gatewayPort}/mcp`, version);
      isAsExpected = report(`${subject.heading}${version}`, outcomes) && isAsExpected;
    }
    return isAsExpected ? 0 : 1;
  } finally {
    await daemon.drain();
  }
}

/** The outcome of each scenario by name; true if it passed. */
type Outcomes = ReadonlyMap<string, boolean>;

async function runSuite(url: string, version: string): Promise<Outcomes> {
  // Neither package belongs to the project, so its npm rules do not apply.
  const rules = ["--engine-strict=false", "--ignore-scripts=false"];
  const packages = [`--package=${NODE}`, `--package=${SUITE}`];
  const args = ["exec", "--yes", ...rules, ...packages, "--", "conformance"];
  const asked = ["server", "--url", url, "--requirements", version];
  const child = spawn("npm", [...args, ...asked], {
    cwd: tmpdir(),
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  for await (const chunk of child.stdout) text += String(chunk);
  const lines = text.matchAll(/^([✓✗]) ([a-z0-9-]+): \d+ passed/gmu);
  return new Map([...lines].map(([, mark, name = ""]) => [name, mark === "✓"]));
}

/** Reports the outcomes of a version; returns true if they match the docs. */
function report(heading: string, outcomes: Outcomes): boolean {
  const expected = reasonsFor(heading);
  const failed = [...outcomes].filter(([, isPassed]) => !isPassed).map(([name]) => name);
  const unexpected = failed.filter((name) => !expected.has(name));
  const better = [...expected].filter((name) => outcomes.get(name) === true);
  const passed = outcomes.size - failed.length;
  process.stdout.write(`${heading}: ${passed} of ${outcomes.size} scenarios passed\n`);
  for (const name of unexpected) process.stdout.write(`  ${name} failed, and has no reason\n`);
  for (const name of better) process.stdout.write(`  ${name} passed, and still has a reason\n`);
  return outcomes.size > 0 && unexpected.length === 0 && better.length === 0;
}

/** The scenarios that the docs list as failing: rows of a section, which may name several. */
function reasonsFor(heading: string): ReadonlySet<string> {
  const [, section = ""] = readFileSync(REASONS, "utf8").split(`\n## ${heading}\n`);
  const [rows = ""] = section.split("\n## ");
  const cells = [...rows.matchAll(/^\| (`[^|]*) \|/gm)].map(([, cell = ""]) => cell);
  return new Set(cells.flatMap((cell) => cell.match(/[a-z0-9-]{4,}/g) ?? []));
}

await runHere(
  command({
    name: "conformance:mcp",
    description:
      "runs MCP's own conformance suite, which npm fetches, against a daemon and through one",
    run: runAll,
  }),
);
