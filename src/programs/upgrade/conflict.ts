/**
 * Conflicts of a new catalog with places of a deployment, in the terms of the JSON report: methods
 * that the newer catalog lacks, and names that only it has. Places that were already wrong are not
 * reported, and uses of deprecated methods are notices. A server's own methods need no
 * catalog.   AGTP-API §3.3, §4.5, §4.7, §9.4
 */

import { isTable, type TomlTable } from "../../base/toml-document.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import { methodNames, methodSegments } from "../../catalog/path-grammar.ts";
import { successorOf } from "./catalog-diff.ts";
import type { DeploymentText } from "./deployment-texts.ts";
import type { MethodRole, PathRole, Reference, References } from "./reference.ts";

/** The groups of AGTP-API §4.7. */
export type ConflictGroup = "path-grammar" | "endpoint" | "recipe" | "policy";

/** The effect on the daemon. */
export type ConflictEffect =
  /** The endpoint or the recipe is refused when it is loaded. */
  | "not-served"
  /** The entry is skipped with a warning.   AGTP-API §9.4 */
  | "skipped"
  /** The configuration is refused, so the daemon does not start. */
  | "stops-start"
  /** It is served as before, but has another meaning. */
  | "changes-meaning"
  /** Requests that used to be accepted are answered with 460. */
  | "refused-requests";

export interface Conflict {
  readonly group: ConflictGroup;
  readonly effect: ConflictEffect;
  readonly reference: Reference;
  readonly method: string;
  /** The replacement, if one was announced. */
  readonly successor?: string;
  readonly message: string;
  readonly remedy: string;
}

/** A place that keeps working, but that an operator should know about. */
export interface Notice {
  readonly kind: "deprecated" | "unknown";
  readonly reference: Reference;
  readonly method: string;
  readonly successor?: string;
  readonly removedIn?: string;
  readonly message: string;
}

/** The older and the newer catalog. */
export interface CatalogStep {
  readonly older: Catalog;
  readonly newer: Catalog;
}

/** The effect of a method's removal, by the role in which it is named. */
const ON_REMOVAL: Readonly<
  Record<MethodRole, readonly [ConflictGroup, ConflictEffect, consequence: string]>
> = {
  endpoint: ["endpoint", "not-served", "the endpoint is not served"],
  "endpoint-successor": [
    "endpoint",
    "not-served",
    "the endpoint is not served, because of the successor that it names",
  ],
  step: ["recipe", "not-served", "the recipe is not loaded"],
  pattern: ["recipe", "not-served", "the recipe is not loaded"],
  allow: ["policy", "skipped", "the entry is skipped"],
  disallow: ["policy", "skipped", "the entry is skipped"],
  legacy: ["policy", "changes-meaning", "it loses its place in the catalog's mapping"],
  "redirect-from": ["policy", "skipped", "the redirect is skipped, and nobody can use the method"],
  "redirect-to": ["policy", "skipped", "the redirect is skipped"],
  "alias-target": ["policy", "stops-start", "the server does not start with this alias"],
  token: ["policy", "skipped", "no request needs a token for this entry any more"],
  approval: ["policy", "stops-start", "the server does not start with this rule"],
  "hosted-protocol": ["policy", "skipped", "the manifest does not list the protocol"],
  tool: ["policy", "skipped", "the agent loses the tool"],
  "own-endpoint": ["policy", "refused-requests", "the server refuses its own endpoint with 459"],
};

/** Roles in which an HTTP verb is allowed.   AGTP-API §9.2 */
const LEGACY_ROLES: ReadonlySet<MethodRole> = new Set([
  ...(["allow", "disallow", "legacy", "token", "approval"] as const),
  ...(["redirect-from", "redirect-to"] as const),
]);
/** Roles that use a method, so that its deprecation matters. */
const USING_ROLES: ReadonlySet<MethodRole> = new Set([
  ...(["endpoint", "step", "pattern", "redirect-to", "alias-target"] as const),
  ...(["hosted-protocol", "own-endpoint", "tool"] as const),
]);

function methodConflict(
  reference: Reference<MethodRole>,
  { older, newer }: CatalogStep,
  custom: ReadonlySet<string>,
): Conflict | undefined {
  const { role, value } = reference;
  if (!isKnown(reference, older, custom) || isKnown(reference, newer, custom)) return undefined;
  // The server's own endpoints keep their methods, so their successors do not apply.
  const successor = role === "own-endpoint" ? undefined : successorOf(value, older, newer);
  const what = older.legacy.has(value) ? "is no legacy verb" : "is not in the catalog";
  const [group, effect, consequence] = ON_REMOVAL[role];
  return {
    ...{ group, effect, reference, method: value },
    ...(successor === undefined ? {} : { successor }),
    message: `${value} ${what} of ${newer.version}: ${consequence}`,
    remedy: remedyOf(reference, successor),
  };
}

/** The notice about a method that is in use and deprecated, or in neither catalog. */
function methodNotice(
  reference: Reference<MethodRole>,
  { older, newer }: CatalogStep,
  custom: ReadonlySet<string>,
): Notice | undefined {
  const { role, value } = reference;
  const verb = newer.verbs.get(value);
  if (verb === undefined) {
    if (role === "own-endpoint") return undefined;
    if (isKnown(reference, older, custom) || isKnown(reference, newer, custom)) return undefined;
    const what = newer.legacy.has(value) ? "is a legacy verb" : "is in neither catalog";
    const message = `${value} ${what}, so the upgrade changes nothing about it`;
    return { kind: "unknown", reference, method: value, message };
  }
  if (verb.deprecatedIn === undefined || !USING_ROLES.has(role)) return undefined;
  const { successor, removedIn } = verb;
  const until = removedIn === undefined ? "" : `, to be removed in ${removedIn}`;
  return {
    ...{ kind: "deprecated", reference, method: value },
    ...(successor === undefined ? {} : { successor }),
    ...(removedIn === undefined ? {} : { removedIn }),
    message: `${value} is deprecated in ${verb.deprecatedIn}${until}`,
  };
}

function isKnown(
  { role, value }: Reference<MethodRole>,
  catalog: Catalog,
  custom: ReadonlySet<string>,
): boolean {
  if (catalog.has(value) || custom.has(value)) return true;
  return LEGACY_ROLES.has(role) && catalog.legacy.has(value);
}

function remedyOf(reference: Reference<MethodRole>, successor: string | undefined): string {
  if (successor !== undefined) return `use ${successor}`;
  switch (reference.role) {
    case "allow":
    case "disallow":
    case "legacy":
    case "redirect-from":
    case "token":
    case "approval":
      return "no successor is named: remove the entry";
    case "own-endpoint":
      return `name ${reference.value} in policies.methods.custom`;
    default:
      return "no successor is named: choose another method, or keep it in policies.methods.custom";
  }
}

/** Conflicts and notices, in file order. */
export interface DeploymentFindings {
  readonly conflicts: readonly Conflict[];
  readonly notices: readonly Notice[];
}

const PATH_EFFECTS: Readonly<Record<PathRole, ConflictEffect>> = {
  "endpoint-path": "not-served",
  "endpoint-successor-path": "not-served",
  "step-path": "not-served",
  "pattern-path": "not-served",
  "pattern-segment": "refused-requests",
  "redirect-path": "stops-start",
  "approval-path": "stops-start",
  "hosted-protocol-path": "refused-requests",
  "agent-path": "not-served",
  "parameter-value": "refused-requests",
};

/** Finds the conflicts and notices of a deployment. */
export function findConflicts(references: References, step: CatalogStep): DeploymentFindings {
  const custom = new Set(
    references.names.filter(({ role }) => role === "custom").map(({ value }) => value),
  );
  // A verb that the operator lists is a method with the same meaning, unless the catalog's aliases hide it.
  const hidesLegacy = methodPolicyOf(references).aliases === undefined;
  const methods = references.methods.filter(({ role }) => hidesLegacy || role !== "legacy");
  const conflicts = [
    ...methods.flatMap((one) => methodConflict(one, step, custom) ?? []),
    ...references.names.flatMap((one) => nameConflict(one, step) ?? []),
    ...pathConflicts(references.paths, step, custom),
    ...aliasSeedConflicts(references, step),
  ];
  const notices = references.methods.flatMap((one) => methodNotice(one, step, custom) ?? []);
  return { conflicts, notices };
}

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

/** Valid paths that contain the name of a new method.   AGTP-API §5.1 */
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
 * One conflict for each HTTP verb with another target: a server without its own aliases uses the
 * catalog's, so a changed mapping changes what existing callers reach.   AGTP-API §3.6, §9.2
 */
function aliasSeedConflicts(references: References, step: CatalogStep): readonly Conflict[] {
  const { config } = references;
  if (config === undefined) return [];
  const { legacy, aliases } = methodPolicyOf(references);
  if (aliases !== undefined) return legacy === "*" ? legacyConflicts(config, aliases, step) : [];
  const { older, newer } = step;
  return [...older.legacy].flatMap(([verb, { preferred }]): readonly Conflict[] => {
    const now = newer.legacy.get(verb)?.preferred;
    if (now === preferred) return [];
    const becomes = now === undefined ? "is no alias" : `is dispatched as ${now}`;
    const kept = newer.has(preferred) ? preferred : (now ?? successorOf(preferred, older, newer));
    return [
      {
        ...{ group: "policy", effect: "changes-meaning", method: verb },
        reference: unwritten(config, "policies.methods.aliases", "alias-seed", preferred),
        message: `${verb} ${becomes} instead of ${preferred}, because the catalog's seed changed and [policies.methods.aliases] is not written`,
        remedy: `write the table, with ${kept ? `${verb} = "${kept}"` : `the method that ${verb} is to be`}`,
      },
    ];
  });
}

/** `legacy = "*"` enables the verbs in the catalog; verbs that are named individually need no catalog. */
function legacyConflicts(
  config: DeploymentText,
  aliases: TomlTable,
  { older, newer }: CatalogStep,
): readonly Conflict[] {
  const gone = [...older.legacy.keys()].filter((verb) => !newer.legacy.has(verb));
  return gone
    .filter((verb) => !Object.hasOwn(aliases, verb))
    .map((verb) => ({
      ...{ group: "policy", effect: "refused-requests", method: verb },
      reference: unwritten(config, "policies.methods.legacy", "legacy", verb),
      message: `${verb} is no legacy verb of ${newer.version}, and "*" has none but those: requests with it are refused with 459`,
      remedy: "write the list of the verbs that are to be methods",
    }));
}

/** The part of the method policy about HTTP verbs, as written. */
function methodPolicyOf({ config }: References): {
  readonly legacy: unknown;
  readonly aliases: TomlTable | undefined;
} {
  const policies = config?.table["policies"];
  const methods = isTable(policies) ? policies["methods"] : undefined;
  const { legacy, aliases } = isTable(methods) ? methods : {};
  return { legacy, aliases: isTable(aliases) ? aliases : undefined };
}

function unwritten<Role extends string>(
  source: DeploymentText,
  key: string,
  role: Role,
  value: string,
): Reference<Role> {
  return { source, key, role, value, isWritten: false, within: {} };
}
