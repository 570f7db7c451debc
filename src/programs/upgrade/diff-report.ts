/**
 * The result of `agtp-catalog-diff` before formatting: the catalogs, the changes, the conflicts,
 * the fixes, and the resulting exit code.   AGTP-API §4.7
 */

import { isError, type Problem } from "../../base/problem.ts";
import type { Catalog, Verb } from "../../catalog/catalog.ts";
import {
  type CatalogDiff,
  type ChangedVerb,
  type SectionDiff,
  successorOf,
  type VersionVerdict,
} from "./catalog-diff.ts";
import type { Conflict, ConflictGroup, Notice } from "./conflict.ts";
import type { FixPlan } from "./fix-plan.ts";
import type { Reference } from "./reference.ts";
import type { Scan } from "./scan.ts";

/** A catalog, with its name on the command line. */
export interface NamedCatalog {
  readonly file: string;
  readonly catalog: Catalog;
}

/** Files that were written, or would be. */
export interface FixOutcome {
  readonly plan: FixPlan;
  readonly isDryRun: boolean;
  readonly written: readonly string[];
  readonly failed: readonly { readonly file: string; readonly reason: string }[];
}

/** The deployment at the end of the run. */
export interface DeploymentReport {
  /** The directory on the command line. */
  readonly directory: string;
  readonly scan: Scan;
  readonly fix?: FixOutcome;
}

export interface DiffReport {
  readonly older: NamedCatalog;
  readonly newer: NamedCatalog;
  readonly diff: CatalogDiff;
  readonly verdict: VersionVerdict;
  /** Warnings about the catalogs. */
  readonly problems: readonly Problem[];
  readonly deployment?: DeploymentReport;
}

/** 2 if something could not be read or written, 1 if something breaks, 0 otherwise. */
export function exitCodeOf({ deployment }: DiffReport): 0 | 1 | 2 {
  if (deployment === undefined) return 0;
  const { scan, fix } = deployment;
  if (scan.problems.some(isError) || (fix?.failed.length ?? 0) > 0) return 2;
  return scan.conflicts.length > 0 ? 1 : 0;
}

/** The whole report as a JSON value. */
export function toJsonReport(report: DiffReport): Readonly<Record<string, unknown>> {
  const { older, newer, diff, verdict, deployment } = report;
  return {
    ok: exitCodeOf(report) === 0,
    old: catalogOf(older.file, older.catalog),
    new: catalogOf(newer.file, newer.catalog),
    semver: { ok: verdict.faults.length === 0, ...verdict },
    ...changesIn(diff, older.catalog, newer.catalog),
    problems: report.problems,
    deployment: deployment === undefined ? null : deploymentOf(deployment),
  };
}

function catalogOf(file: string, { version, verbs }: Catalog): object {
  return { file, version, methods: verbs.size };
}

function changesIn(diff: CatalogDiff, older: Catalog, newer: Catalog): object {
  const named = ({ name: method, categories }: Verb) => ({ method, categories });
  const changed = (pairs: readonly ChangedVerb[], of: (verb: Verb) => unknown): object[] =>
    pairs.map((pair) => ({ method: pair.newer.name, old: of(pair.older), new: of(pair.newer) }));
  return {
    added: diff.added.map((verb) => {
      return { ...named(verb), description: verb.description, ...deprecationOf(verb) };
    }),
    removed: diff.removed.map((verb) => {
      const successor = successorOf(verb.name, older, newer) ?? null;
      return { ...named(verb), ...deprecationOf(verb), successor };
    }),
    newly_deprecated: diff.deprecated.map(({ newer: verb }) => {
      return { method: verb.name, ...deprecationOf(verb) };
    }),
    undeprecated: diff.undeprecated.map(({ newer: { name } }) => ({ method: name })),
    deprecation_changed: changed(diff.redated, deprecationOf),
    recategorised: changed(diff.recategorised, ({ categories }) => categories),
    redescribed: changed(diff.redescribed, ({ description }) => description),
    legacy: sectionOf(diff.legacy),
    legacy_descriptions: sectionOf(diff.legacyTexts),
    categories: sectionOf(diff.categories),
  };
}

function deprecationOf({ deprecatedIn, removedIn, successor }: Verb): object {
  return {
    deprecated_in: deprecatedIn ?? null,
    removed_in: removedIn ?? null,
    successor: successor ?? null,
  };
}

function sectionOf({ added, removed, changed }: SectionDiff): object {
  const renamed = changed.map(({ name, older, newer }) => ({ name, old: older, new: newer }));
  return { added, removed, changed: renamed };
}

function deploymentOf({ directory, scan, fix }: DeploymentReport): object {
  const conflicts = (group: ConflictGroup): readonly object[] =>
    scan.conflicts
      .filter((conflict) => conflict.group === group)
      .map((conflict) => conflictOf(conflict, scan));
  const notices = (kind: Notice["kind"]): readonly object[] =>
    scan.notices.filter((notice) => notice.kind === kind).map((notice) => noticeOf(notice, scan));
  return {
    directory,
    files: scan.texts.files.length,
    breaks: scan.conflicts.length,
    path_grammar_conflicts: conflicts("path-grammar"),
    endpoint_conflicts: conflicts("endpoint"),
    recipe_conflicts: conflicts("recipe"),
    policy_conflicts: conflicts("policy"),
    deprecated_uses: notices("deprecated"),
    unknown_methods: notices("unknown"),
    problems: scan.problems,
    fix: fix === undefined ? null : fixOf(fix, scan),
  };
}

function placed({ source, key, ...reference }: Reference, scan: Scan): object {
  const { line, column } = scan.placeOf({ source, key, ...reference }) ?? {};
  return { file: source.file, line: line ?? null, column: column ?? null, key };
}

function conflictOf(conflict: Conflict, scan: Scan): object {
  const { reference, method, effect, successor, message, remedy } = conflict;
  return {
    ...placed(reference, scan),
    value: reference.value,
    method,
    effect,
    successor: successor ?? null,
    message,
    remedy,
  };
}

function noticeOf(
  { reference, method, successor, removedIn, message }: Notice,
  scan: Scan,
): object {
  return {
    ...placed(reference, scan),
    method,
    removed_in: removedIn ?? null,
    successor: successor ?? null,
    message,
  };
}

function fixOf({ plan, isDryRun, written, failed }: FixOutcome, scan: Scan): object {
  const changes = plan.fixes.flatMap(({ source: { file }, edits }) =>
    edits.map(({ line, conflict: { reference, method, successor } }) => {
      return { file, line, key: reference.key, old: method, new: successor };
    }),
  );
  const refused = plan.refused.map(({ conflict: { reference, method }, reason }) => {
    return { ...placed(reference, scan), method, reason };
  });
  return { dry_run: isDryRun, changes, refused, written, failed };
}
