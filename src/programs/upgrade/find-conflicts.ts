/**
 * Judges what a deployment names by two catalogs: what the older one has and the newer one has not,
 * and what only the newer one has. What was wrong already is not the newer catalog's doing.
 * AGTP-API §4.5, §4.7, §9.4
 */
import { isTable } from "../../base/toml-document.ts";
import { methodNames, methodSegments } from "../../catalog/path-grammar.ts";
import {
  type CatalogStep,
  type Conflict,
  type ConflictEffect,
  MethodJudge,
  type Notice,
} from "./conflict.ts";
import type { PathRole, Reference, References } from "./reference.ts";

/** Conflicts and notices, in the order of the files. */
export interface DeploymentFindings {
  readonly conflicts: readonly Conflict[];
  readonly notices: readonly Notice[];
}

const PATH_EFFECTS: Readonly<Record<PathRole, ConflictEffect>> = {
  "endpoint-path": "not-served",
  "endpoint-successor-path": "not-served",
  "step-path": "not-served",
  "pattern-path": "not-served",
  "redirect-path": "stops-start",
  "hosted-protocol-path": "refused-requests",
  "agent-path": "not-served",
  "parameter-value": "refused-requests",
};

/** Judges everything. */
export function findConflicts(references: References, step: CatalogStep): DeploymentFindings {
  const custom = new Set(
    references.names.filter(({ role }) => role === "custom").map(({ value }) => value),
  );
  const judge = new MethodJudge(step, custom);
  const conflicts = [
    ...references.methods.flatMap((one) => judge.conflict(one) ?? []),
    ...references.names.flatMap((one) => nameConflict(one, step) ?? []),
    ...pathConflicts(references.paths, step, custom),
    ...aliasSeedConflicts(references, step),
  ];
  const notices = references.methods.flatMap((one) => judge.notice(one) ?? []);
  return { conflicts, notices };
}

/** A name of the server's own that the catalog has now as well. */
function nameConflict(reference: Reference, { older, newer }: CatalogStep): Conflict | undefined {
  const { role, value } = reference;
  if (older.has(value) || !newer.has(value)) return undefined;
  const isAlias = role === "alias";
  return {
    group: "policy",
    effect: "changes-meaning",
    reference,
    method: value,
    message: isAlias
      ? `${value} is a method of the catalog from ${newer.version} on, and this alias hides it`
      : `${value} is a method of the catalog from ${newer.version} on, with a meaning of its own`,
    remedy: isAlias
      ? "give the alias another name, or remove it"
      : "remove it from custom if the catalog's meaning is yours, else rename the method",
  };
}

/** Paths that were fine, and have the name of a method in them now.   AGTP-API §5.1 */
function pathConflicts(
  paths: readonly Reference<PathRole>[],
  { older, newer }: CatalogStep,
  custom: ReadonlySet<string>,
): readonly Conflict[] {
  const before = methodNames(older, [...custom]);
  const names = new Set([...methodNames(newer, [])].filter((name) => !before.has(name)));
  if (names.size === 0) return [];
  return paths.flatMap((reference) =>
    methodSegments(reference.value, names).map(({ segment, method }): Conflict => {
      const isValue = reference.role === "parameter-value";
      const shown = JSON.stringify(segment);
      return {
        group: "path-grammar",
        effect: PATH_EFFECTS[reference.role],
        reference,
        method,
        message: isValue
          ? `${shown} is the method ${method} from ${newer.version} on: requests with this value in their path are refused with 460`
          : `segment ${shown} is the method ${method} from ${newer.version} on, and no path may have one`,
        remedy: isValue
          ? "give the value another name"
          : "rename the segment: a plural is rarely a method",
      };
    }),
  );
}

/**
 * One conflict for each HTTP verb that is dispatched differently: without aliases of an operator's
 * own a server has the catalog's, and another mapping there changes what existing callers reach.
 * AGTP-API §3.6, §9.2
 */
function aliasSeedConflicts(
  { config }: References,
  { older, newer }: CatalogStep,
): readonly Conflict[] {
  if (config === undefined) return [];
  const { policies } = config.table;
  const methods = isTable(policies) ? policies["methods"] : undefined;
  if (isTable(methods) && "aliases" in methods) return [];
  return [...older.legacy].flatMap(([verb, { preferred }]): readonly Conflict[] => {
    const now = newer.legacy.get(verb)?.preferred;
    if (now === preferred) return [];
    const reference: Reference = {
      source: config,
      key: "policies.methods.aliases",
      role: "alias-seed",
      value: preferred,
      isWritten: false,
      within: {},
    };
    const becomes = now === undefined ? "is no alias" : `is dispatched as ${now}`;
    return [
      {
        group: "policy",
        effect: "changes-meaning",
        reference,
        method: verb,
        message: `${verb} ${becomes} instead of ${preferred}, because the catalog's seed changed and [policies.methods.aliases] is not written`,
        remedy: `write the table, with ${verb} = "${newer.has(preferred) ? preferred : (now ?? preferred)}"`,
      },
    ];
  });
}
