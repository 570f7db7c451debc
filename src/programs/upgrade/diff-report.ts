/**
 * The findings of a run of `agtp-catalog-diff`, before they are shown: the catalogs, what changed, what
 * breaks, what was fixed, and the exit code that follows.   AGTP-API §4.7
 */

import { isError, type Problem } from "../../base/problem.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import type { CatalogDiff } from "./catalog-diff.ts";
import type { FixPlan } from "./fix-plan.ts";
import type { Scan } from "./scan.ts";
import type { VersionVerdict } from "./version-verdict.ts";

/** A catalog, under the name that the command line has for it. */
export interface NamedCatalog {
  readonly file: string;
  readonly catalog: Catalog;
}

/** Files that were, or would be, written. */
export interface FixOutcome {
  readonly plan: FixPlan;
  readonly isDryRun: boolean;
  readonly written: readonly string[];
  readonly failed: readonly { readonly file: string; readonly reason: string }[];
}

/** A deployment as it is at the end of the run. */
export interface DeploymentReport {
  /** As the command line has it. */
  readonly directory: string;
  readonly scan: Scan;
  readonly fix?: FixOutcome;
}

/** Everything that there is to show. */
export interface DiffReport {
  readonly older: NamedCatalog;
  readonly newer: NamedCatalog;
  readonly diff: CatalogDiff;
  readonly verdict: VersionVerdict;
  /** Warnings about the catalogs. */
  readonly problems: readonly Problem[];
  readonly deployment?: DeploymentReport;
}

/** 2: something could not be read or written. 1: something breaks. 0: nothing does. */
export function exitCodeOf({ deployment }: DiffReport): 0 | 1 | 2 {
  if (deployment === undefined) return 0;
  const { scan, fix } = deployment;
  if (scan.problems.some(isError) || (fix?.failed.length ?? 0) > 0) return 2;
  return scan.conflicts.length > 0 ? 1 : 0;
}
