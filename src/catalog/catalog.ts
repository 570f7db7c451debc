/**
 * The method catalog: the vocabulary of method names, the floor that every server supports, and the
 * HTTP verbs that an operator may enable. It defines the form of a method name and when a
 * deprecation is announced; `catalog-file.ts` reads the file.   AGTP-API §3, §4
 */
import { path, type Schema, table } from "../schema/section-field.ts";

/** A verb of the catalog; the last three members are its deprecation.   AGTP-API §4.2 */
export interface Verb {
  readonly name: string;
  readonly categories: readonly string[];
  readonly description: string;
  readonly deprecatedIn?: string;
  readonly removedIn?: string;
  readonly successor?: string;
}

/** An HTTP verb, and the catalog verb that replaces it.   AGTP-API §3.1 */
export interface LegacyVerb {
  readonly preferred: string;
  readonly description: string;
}

/** One valid version of the catalog, in the file's order. */
export interface Catalog {
  readonly version: string;
  readonly embedded: readonly string[];
  readonly legacy: ReadonlyMap<string, LegacyVerb>;
  readonly categories: ReadonlyMap<string, string>;
  readonly verbs: ReadonlyMap<string, Verb>;
  /** Tells whether a name is a verb of the catalog, deprecated or not; legacy verbs are not. */
  has(name: string): boolean;
}

/** The protocol floor by group; the groups have no effect.   AGTP-API §3.1 */
export const FLOOR_GROUPS = {
  cognitive: ["QUERY", "DISCOVER", "DESCRIBE", "INSPECT", "SUMMARIZE", "PLAN", "PROPOSE"],
  mechanics: ["EXECUTE", "DELEGATE", "ESCALATE", "CONFIRM", "SUSPEND", "NOTIFY"],
  lifecycle: ["ACTIVATE", "DEACTIVATE", "REINSTATE", "REVOKE", "DEPRECATE"],
} as const;

/** `cognitive`, `mechanics` or `lifecycle`. */
type FloorGroup = keyof typeof FLOOR_GROUPS;

/** A floor method, one of 18. */
type FloorMethod = (typeof FLOOR_GROUPS)[FloorGroup][number];

/** The 18 methods that every server supports, group by group.   AGTP-API §3.1 */
export const FLOOR_METHODS: readonly FloorMethod[] = Object.values(FLOOR_GROUPS).flat();

const EXEMPT_FROM_LIFECYCLE: ReadonlySet<string> = new Set([
  ...FLOOR_GROUPS.lifecycle,
  ...["INSPECT", "DESCRIBE", "DISCOVER"],
]);

/**
 * Tells whether a suspended or retired agent may still call a method, since it must be able to
 * return.   AGTP "Agent Lifecycle"
 */
export function isExemptFromLifecycle(method: string): boolean {
  return EXEMPT_FROM_LIFECYCLE.has(method);
}

/** The HTTP verbs that a catalog may list as legacy.   AGTP-API §3.6 */
export const HTTP_VERBS = ["GET", "POST", "PUT", "DELETE", "PATCH"] as const;

/** Length bounds of a method name.   AGTP-API §3.2 */
export const METHOD_NAME_LENGTH = { min: 3, max: 32 } as const;

const METHOD_NAME = /^[A-Z]{3,32}$/;

/** Tells whether a name has the form of a method name; the catalog knows if it is one.   §3.2 */
export function isMethodName(name: string): boolean {
  return METHOD_NAME.test(name);
}

/**
 * Stands in for an unreadable catalog: every method is known, so that no problem is reported which
 * a whole catalog would not confirm.
 */
export const UNREAD_CATALOG: Catalog = {
  version: "",
  embedded: FLOOR_METHODS,
  legacy: new Map(),
  categories: new Map(),
  verbs: new Map(),
  has: isMethodName,
};

/** The value of `AGTP-Catalog-Warning` for a deprecated verb.   AGTP-API §4.4 */
export function catalogWarning(verb: Verb): string | undefined {
  if (verb.deprecatedIn === undefined) return undefined;
  const parts = ["deprecated"];
  if (verb.successor !== undefined) parts.push(`successor=${verb.successor}`);
  if (verb.removedIn !== undefined) parts.push(`removed_in=${verb.removedIn}`);
  return parts.join("; ");
}

/** The AGTP-Catalog-Warning of every deprecated method. */
export function compileCatalogWarnings(catalog: Catalog): ReadonlyMap<string, string> {
  const warnings = new Map<string, string>();
  for (const verb of catalog.verbs.values()) {
    const warning = catalogWarning(verb);
    if (warning !== undefined) warnings.set(verb.name, warning);
  }
  return warnings;
}

/** `[catalog]` */
export interface CatalogConfig {
  readonly file: string;
}

export const catalogSection: Schema = table("The method catalog", {
  file: path("catalog/methods.json", "The catalog of approved methods"),
});
