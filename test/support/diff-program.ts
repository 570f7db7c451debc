/** `agtp-catalog-diff` in process, over two catalogs and a deployment that a test writes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { catalogDiffProgram } from "../../src/programs/upgrade/command.ts";
import { type CatalogJson, catalogJson } from "./catalog-versions.ts";
import { configFile } from "./deployment.ts";
import { type Files, makeDirectory } from "./directory.ts";
import { type ProgramRun, runIn } from "./terminal.ts";

/** One finding of the JSON report. */
export type FindingJson = Readonly<Record<string, unknown>>;

/** What the JSON report says of the deployment. */
interface DeploymentJson {
  readonly path_grammar_conflicts: readonly FindingJson[];
  readonly endpoint_conflicts: readonly FindingJson[];
  readonly recipe_conflicts: readonly FindingJson[];
  readonly policy_conflicts: readonly FindingJson[];
  readonly deprecated_uses: readonly FindingJson[];
  readonly unknown_methods: readonly FindingJson[];
  readonly problems: readonly FindingJson[];
  readonly fix: {
    readonly changes: readonly FindingJson[];
    readonly refused: readonly FindingJson[];
    readonly written: readonly string[];
    readonly failed: readonly FindingJson[];
  } | null;
}

/** The JSON report against the deployment, and the exit code. */
interface DiffReportRun {
  readonly exitCode: number;
  readonly json: FindingJson;
  readonly deployment: DeploymentJson;
  readonly err: string;
}

interface DiffProgram {
  readonly directory: string;
  run(...args: readonly string[]): Promise<ProgramRun>;
  report(...args: readonly string[]): Promise<DiffReportRun>;
  read(file: string): string;
}

export interface DiffFiles {
  readonly older?: (catalog: CatalogJson) => void;
  readonly newer?: (catalog: CatalogJson) => void;
  /** Below `site/`; a configuration is there unless it is written. */
  readonly site?: Files;
  readonly files?: Files;
  readonly environment?: Readonly<Record<string, string>>;
}

/** The program for the running test. */
export function makeDiffProgram(options: DiffFiles = {}): DiffProgram {
  const { older, newer, site = {}, files = {}, environment = {} } = options;
  const deployment = { "agtp-server.toml": configFile(), ...site };
  const directory = makeDirectory({
    "old.json": catalogJson(older),
    "new.json": catalogJson((catalog) => {
      older?.(catalog);
      newer?.(catalog);
    }),
    ...Object.fromEntries(Object.entries(deployment).map(([name, text]) => [`site/${name}`, text])),
    ...files,
  });
  const run: DiffProgram["run"] = (...args) => {
    return runIn(directory, catalogDiffProgram, args, { environment });
  };
  return {
    directory,
    run,
    report: async (...args) => {
      const against = ["old.json", "new.json", "--against-deployment", "site", "--json"];
      const { exitCode, out, err } = await run(...against, ...args);
      const json = JSON.parse(out);
      return { exitCode, err, json, deployment: json.deployment };
    },
    read: (file) => readFileSync(join(directory, file), "utf8"),
  };
}
