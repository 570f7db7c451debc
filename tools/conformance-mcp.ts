#!/usr/bin/env node
/**
 * `npm run conformance:mcp`: runs MCP's own conformance suite in both versions of the protocol, against a
 * daemon of this project and through one to a server behind it. It exits 0 when exactly those scenarios
 * fail that docs/mcp-conformance.md gives a reason for. The suite, and the newer Node that it needs, are
 * fetched by npm when it runs.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startDaemon } from "../src/app/daemon.ts";
import { createLog } from "../src/base/log.ts";
import { formatProblem } from "../src/base/problem.ts";
import { inScratch } from "./scratch.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const REASONS = join(ROOT, "docs/mcp-conformance.md");
const SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
const NODE = "node@22.23.3";
const VERSIONS = ["2026-07-28", "2025-11-25"] as const;

/** Whom the suite is run against. */
interface Subject {
  /** In front of the version, in the headings of the docs. */
  readonly heading: string;
  /** The deployment, below the project. */
  readonly deployment: string;
  /** Completes it where it lies. */
  complete(directory: string): void;
}

const SUBJECTS: readonly Subject[] = [
  { heading: "", deployment: "test/conformance/mcp", complete: () => undefined },
  {
    heading: "Through the daemon, ",
    deployment: "test/conformance/mcp-behind",
    complete: importTools,
  },
];

/** The tools of the server behind, as an operator would have them. */
function importTools(directory: string): void {
  const program = join(ROOT, "dist/tools/agtp-mcp.js");
  const args = [program, "import", "fixture", "-o", "endpoints", "--keep-names"];
  execFileSync(process.execPath, args, { cwd: directory, stdio: ["ignore", "ignore", "inherit"] });
}

async function main(): Promise<number> {
  let code = 0;
  for (const subject of SUBJECTS) {
    code = Math.max(code, await inScratch((directory) => judge(subject, directory)));
  }
  return code;
}

async function judge(subject: Subject, directory: string): Promise<number> {
  cpSync(join(ROOT, subject.deployment), directory, { recursive: true });
  cpSync(join(ROOT, "catalog"), join(directory, "catalog"), { recursive: true });
  const log = createLog("error", { write: () => undefined, flush: () => Promise.resolve() });
  const configPath = join(directory, "agtp-server.toml");
  const port = await freePort();
  const config = readFileSync(configPath, "utf8");
  // The suite's own origin has the port in it, and is told before the daemon listens.
  const known = config
    .replaceAll(/(?<=localhost:|127\.0\.0\.1:|enabled = true\nport = )0/g, String(port))
    .replace('"SERVER"', JSON.stringify(join(ROOT, subject.deployment, "server.mjs")));
  writeFileSync(configPath, known);
  subject.complete(directory);
  const started = await startDaemon({ configPath, port: 0, env: process.env, log });
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** The verdict on each scenario, by its name; true: it was passed. */
type Outcomes = ReadonlyMap<string, boolean>;

async function runSuite(url: string, version: string): Promise<Outcomes> {
  // Neither is the project's: its rules for packages are not meant for them.
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

/** Says how the version went; true where it went as the docs say. */
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

/** The scenarios that the docs say are not passed: rows of a section, which may name several. */
function reasonsFor(heading: string): ReadonlySet<string> {
  const [, section = ""] = readFileSync(REASONS, "utf8").split(`\n## ${heading}\n`);
  const [rows = ""] = section.split("\n## ");
  const cells = [...rows.matchAll(/^\| (`[^|]*) \|/gm)].map(([, cell = ""]) => cell);
  return new Set(cells.flatMap((cell) => cell.match(/[a-z0-9-]{4,}/g) ?? []));
}

process.exitCode = await main();
