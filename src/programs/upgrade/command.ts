/**
 * `agtp-catalog-diff`: shows what changed between two catalogs, and what breaks in a deployment.
 * The exit code is 0 when nothing breaks, 1 when something does, 2 when a file could not be read or
 * written.   AGTP-API §4.7
 */
import { resolve } from "node:path";
import type { Problem } from "../../base/problem.ts";
import { loadCatalog } from "../../catalog/catalog-file.ts";
import { type Command, command, type Line, usage } from "../shell/command.ts";
import { printProblems } from "../shell/findings.ts";
import { printJson } from "../shell/print-json.ts";
import type { Terminal } from "../shell/terminal.ts";
import { diffCatalogs, isSemanticVersion, judgeVersion } from "./catalog-diff.ts";
import type { CatalogStep } from "./conflict.ts";
import {
  type DeploymentReport,
  type DiffReport,
  exitCodeOf,
  type FixOutcome,
  type NamedCatalog,
  toJsonReport,
} from "./diff-report.ts";
import { type FixPlan, planFixes, replaceText } from "./fix-plan.ts";
import { type Scan, scanDeployment } from "./scan.ts";
import { printCatalogs, printDeployment, printOutcome, printPlan } from "./text-report.ts";

const NOTES = `
Examples:
  agtp-catalog-diff catalog/methods.json methods-2.0.0.json
  agtp-catalog-diff catalog/methods.json methods-2.0.0.json --against-deployment .
  agtp-catalog-diff catalog/methods.json methods-2.0.0.json --against-deployment . --fix --dry-run

Exit codes: 0 nothing breaks, 1 something in the deployment breaks, 2 a file could not be read.`;

const ARGS = { "<old>": "the catalog in use", "<new>": "the catalog to come" } as const;
const OPTIONS = {
  "--against-deployment <dir>": "the deployment that is to be upgraded",
  "--config <file>": {
    help: "its configuration, in that directory",
    default: "agtp-server.toml",
  },
  "--json": "print JSON",
  "--fix": "write the successor where one is named, and look again",
  "--dry-run": "show what --fix would write, and write nothing",
} as const;

type DiffLine = Line<typeof ARGS, typeof OPTIONS>;

export const catalogDiffProgram: Command = command({
  name: "agtp-catalog-diff",
  description: "Compares two versions of the method catalog, and says what an upgrade breaks.",
  args: ARGS,
  options: OPTIONS,
  notes: NOTES,
  run,
});

function run(line: DiffLine, terminal: Terminal): number {
  if (line.againstDeployment === undefined && (line.fix || line.dryRun)) {
    throw usage("--fix and --dry-run need --against-deployment");
  }
  const problems: Problem[] = [];
  const compared = compare(line, terminal, problems);
  printProblems(problems, terminal.err, "agtp-catalog-diff");
  if (compared === undefined) {
    if (line.json) printJson({ ok: false, problems }, terminal.out);
    return 2;
  }
  if (!line.json) printCatalogs(compared, terminal.out);
  const deployment = lookAtDeployment(line, compared, terminal);
  const report = { ...compared, ...(deployment === undefined ? {} : { deployment }) };
  if (line.json) printJson(toJsonReport(report), terminal.out);
  return exitCodeOf(report);
}

/** Compares the catalogs; undefined if one is invalid. */
function compare(
  line: DiffLine,
  { directory }: Terminal,
  problems: Problem[],
): DiffReport | undefined {
  const load = (file: string): NamedCatalog | undefined => {
    const loaded = loadCatalog(resolve(directory, file), file);
    problems.push(...loaded.problems);
    return loaded.catalog === undefined ? undefined : { file, catalog: loaded.catalog };
  };
  const older = load(line.old);
  const newer = load(line.new);
  if (older === undefined || newer === undefined) return undefined;
  const diff = diffCatalogs(older.catalog, newer.catalog);
  const verdict = judgeVersion(older.catalog, newer.catalog, diff);
  if (verdict !== undefined) return { older, newer, diff, verdict, problems };
  for (const { file, catalog } of [older, newer]) {
    if (isSemanticVersion(catalog.version)) continue;
    const message = `is ${JSON.stringify(catalog.version)}, which is no semantic version`;
    problems.push({ file, key: "version", message });
  }
  return undefined;
}

function lookAtDeployment(
  line: DiffLine,
  { older, newer }: Pick<DiffReport, "older" | "newer">,
  terminal: Terminal,
): DeploymentReport | undefined {
  const directory = line.againstDeployment;
  if (directory === undefined) return undefined;
  const { environment } = terminal;
  const step: CatalogStep = { older: older.catalog, newer: newer.catalog };
  const look = (): Scan => {
    const absolute = resolve(terminal.directory, directory);
    return scanDeployment({ ...step, directory: absolute, config: line.config, environment });
  };
  const scan = look();
  printProblems(scan.problems, terminal.err, "agtp-catalog-diff");
  const show = (report: DeploymentReport): DeploymentReport => {
    if (!line.json) printDeployment(report, terminal.out);
    return report;
  };
  const found = show({ directory, scan });
  if (!line.fix && !line.dryRun) return found;
  const plan = planFixes(scan, step);
  // The plan is shown before it is applied; with --json standard output gets one document.
  printPlan(plan, scan, line.json ? terminal.err : terminal.out);
  const fix = line.dryRun ? dryRun(plan) : apply(plan, scan);
  printOutcome(fix, terminal.err);
  return fix.written.length === 0 ? { ...found, fix } : show({ directory, scan: look(), fix });
}

function dryRun(plan: FixPlan): FixOutcome {
  return { plan, isDryRun: true, written: [], failed: [] };
}

/** Files are written independently, so one failure does not prevent the others. */
function apply(plan: FixPlan, { texts: { directory } }: Scan): FixOutcome {
  const written: string[] = [];
  const failed: { file: string; reason: string }[] = [];
  for (const { source, after } of plan.fixes) {
    const { file, text: before } = source;
    const reason = replaceText({ directory, file, before, after });
    if (reason === undefined) written.push(file);
    else failed.push({ file, reason });
  }
  return { plan, isDryRun: false, written, failed };
}
