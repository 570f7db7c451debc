/**
 * Conflicts of a new catalog with places of a deployment, in the words of the JSON report. Methods that
 * only the older catalog has break what names them, and those on their way out are worth knowing of; a
 * server's own methods need no catalog.   AGTP-API §3.3, §4.5, §9.4
 */

import type { Catalog } from "../../catalog/catalog.ts";
import { successorOf } from "./catalog-diff.ts";
import type { MethodRole, Reference } from "./reference.ts";

/** The groups of AGTP-API §4.7. */
export type ConflictGroup = "path-grammar" | "endpoint" | "recipe" | "policy";

/** The daemon's reaction. */
export type ConflictEffect =
  /** The endpoint or the recipe is refused when it is loaded. */
  | "not-served"
  /** The entry is passed over with a warning.   AGTP-API §9.4 */
  | "skipped"
  /** The configuration is refused, so nothing is served. */
  | "stops-start"
  /** It is served as before, and means something else. */
  | "changes-meaning"
  /** Requests that were accepted are answered with 460. */
  | "refused-requests";

/** One place that breaks. */
export interface Conflict {
  readonly group: ConflictGroup;
  readonly effect: ConflictEffect;
  readonly reference: Reference;
  /** The method that was added or removed. */
  readonly method: string;
  /** The method to use instead, where one was announced. */
  readonly successor?: string;
  /** The method's fate, and its effect here. */
  readonly message: string;
  /** An operator's remedy. */
  readonly remedy: string;
}

/** One place that goes on working, and that an operator should know of. */
export interface Notice {
  readonly kind: "deprecated" | "unknown";
  readonly reference: Reference;
  readonly method: string;
  readonly successor?: string;
  readonly removedIn?: string;
  readonly message: string;
}

/** Both catalogs. */
export interface CatalogStep {
  readonly older: Catalog;
  readonly newer: Catalog;
}

const METHOD_JUDGEMENTS: Readonly<
  Record<MethodRole, { readonly group: ConflictGroup; readonly effect: ConflictEffect }>
> = {
  endpoint: { group: "endpoint", effect: "not-served" },
  "endpoint-successor": { group: "endpoint", effect: "not-served" },
  step: { group: "recipe", effect: "not-served" },
  pattern: { group: "recipe", effect: "not-served" },
  allow: { group: "policy", effect: "skipped" },
  disallow: { group: "policy", effect: "skipped" },
  legacy: { group: "policy", effect: "changes-meaning" },
  "redirect-from": { group: "policy", effect: "skipped" },
  "redirect-to": { group: "policy", effect: "skipped" },
  "alias-target": { group: "policy", effect: "stops-start" },
  token: { group: "policy", effect: "skipped" },
  "hosted-protocol": { group: "policy", effect: "changes-meaning" },
};

/** Roles under which an HTTP verb may stand.   AGTP-API §9.2 */
const LEGACY_ROLES: ReadonlySet<MethodRole> = new Set([
  ...(["allow", "disallow", "legacy", "token", "redirect-from", "redirect-to"] as const),
]);
/** Roles that a method has when it is in use, so that its deprecation is news. */
const USING_ROLES: ReadonlySet<MethodRole> = new Set([
  ...(["endpoint", "step", "pattern", "redirect-to", "alias-target", "hosted-protocol"] as const),
]);

/** Judges one reference after the other. */
export class MethodJudge {
  readonly #step: CatalogStep;
  readonly #custom: ReadonlySet<string>;

  constructor(step: CatalogStep, custom: ReadonlySet<string>) {
    this.#step = step;
    this.#custom = custom;
  }

  /** Known before and not any more. */
  conflict(reference: Reference<MethodRole>): Conflict | undefined {
    const { role, value } = reference;
    const { older, newer } = this.#step;
    if (!this.#isKnown(older, reference) || this.#isKnown(newer, reference)) return undefined;
    const successor = successorOf(value, older, newer);
    const what = older.legacy.has(value) ? "is no legacy verb" : "is not in the catalog";
    return {
      ...METHOD_JUDGEMENTS[role],
      reference,
      method: value,
      ...(successor === undefined ? {} : { successor }),
      message: `${value} ${what} of ${newer.version}: ${CONSEQUENCES[role]}`,
      remedy: remedyOf(reference, successor),
    };
  }

  /** In use and on its way out, or known to neither catalog. */
  notice(reference: Reference<MethodRole>): Notice | undefined {
    const { role, value } = reference;
    const { older, newer } = this.#step;
    const verb = newer.verbs.get(value);
    if (verb === undefined) {
      if (this.#isKnown(older, reference) || this.#isKnown(newer, reference)) return undefined;
      const what = newer.legacy.has(value) ? "is a legacy verb" : "is in neither catalog";
      const message = `${value} ${what}, so the upgrade changes nothing about it`;
      return { kind: "unknown", reference, method: value, message };
    }
    if (verb.deprecatedIn === undefined || !USING_ROLES.has(role)) return undefined;
    const { successor, removedIn } = verb;
    const until = removedIn === undefined ? "" : `, to be removed in ${removedIn}`;
    return {
      kind: "deprecated",
      reference,
      method: value,
      ...(successor === undefined ? {} : { successor }),
      ...(removedIn === undefined ? {} : { removedIn }),
      message: `${value} is deprecated in ${verb.deprecatedIn}${until}`,
    };
  }

  #isKnown(catalog: Catalog, { role, value }: Reference<MethodRole>): boolean {
    if (catalog.has(value) || this.#custom.has(value)) return true;
    return LEGACY_ROLES.has(role) && catalog.legacy.has(value);
  }
}

const CONSEQUENCES: Readonly<Record<MethodRole, string>> = {
  endpoint: "the endpoint is not served",
  "endpoint-successor": "the endpoint is not served, because of the successor that it names",
  step: "the recipe is not loaded",
  pattern: "the recipe is not loaded",
  allow: "the entry is skipped",
  disallow: "the entry is skipped",
  legacy: "it loses its place in the catalog's mapping",
  "redirect-from": "the redirect is skipped, and nobody can use the method",
  "redirect-to": "the redirect is skipped",
  "alias-target": "the server does not start with this alias",
  token: "no request needs a token for this entry any more",
  "hosted-protocol": "the manifest would list a pair that is refused with 459",
};

function remedyOf(reference: Reference<MethodRole>, successor: string | undefined): string {
  if (successor !== undefined) return `use ${successor}`;
  switch (reference.role) {
    case "allow":
    case "disallow":
    case "legacy":
    case "redirect-from":
    case "token":
      return "no successor is named: remove the entry";
    default:
      return "no successor is named: choose another method, or keep it in policies.methods.custom";
  }
}
