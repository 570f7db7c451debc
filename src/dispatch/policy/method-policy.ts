/**
 * The method policy of `[policies.methods]`, checked against the catalog and compiled to lookups:
 * the methods that the server accepts, their aliases, and the redirects.   AGTP-API §9
 */
import { type CloseMatcher, compileCloseMatches } from "../../base/close-matches.ts";
import { given } from "../../base/json-value.ts";
import { addUnder } from "../../base/listed.ts";
import type { Problem } from "../../base/problem.ts";
import { fillTemplate } from "../../base/template.ts";
import { type Catalog, compileCatalogWarnings } from "../../catalog/catalog.ts";
import type { Pair } from "../../catalog/pair.ts";
import { checkTemplate, type MethodNames, templateParameters } from "../../catalog/path-grammar.ts";
import type { MethodPolicyConfig, Redirect } from "./policies-section.ts";

/** The compiled policy. */
export interface MethodPolicy {
  /** Returns the method that a wire method is an alias of. */
  alias(method: string): MethodAlias | undefined;
  /** True for a method of the catalog, an opted-in legacy verb, or a custom method.   §3.2 */
  isKnown(method: string): boolean;
  /** Returns the AGTP-Catalog-Warning of a deprecated method.   §4.4 */
  warningOf(method: string): string | undefined;
  /** Applies allow and disallow; floor methods are allowed unless disallowed by name.   §9.2 */
  isAllowed(method: string): boolean;
  /** Returns the target of the first redirect that applies. */
  redirect(method: string, path: string): Pair | undefined;
  /** Returns the method-to-method redirects that apply on a path, for the 405 body.   §11 */
  redirectsFor(path: string): Readonly<Record<string, string>>;
  /** Finds the names that a 459 suggests for an unknown method. */
  readonly closeMatches: CloseMatcher;
  /** The manifest's `policies.methods`. */
  readonly projection: Readonly<Record<string, unknown>>;
}

/** Applies aliases and redirects to a pair. */
export function canonicalPair(
  policy: Pick<MethodPolicy, "alias" | "redirect">,
  { method, path }: Pair,
): Pair {
  const resolved = resolveMethod(policy, method);
  return policy.redirect(resolved, path) ?? { method: resolved, path };
}

/** Returns the method that a name stands for. */
export function resolveMethod(policy: Pick<MethodPolicy, "alias">, method: string): string {
  return policy.alias(method)?.method ?? method;
}

/** Tells whether a pair is answered as it is, neither refused nor redirected by the policy. */
export function isReachable(
  policy: Pick<MethodPolicy, "alias" | "redirect" | "isAllowed">,
  pair: Pair,
): boolean {
  const { method, path } = canonicalPair(policy, pair);
  return method === pair.method && path === pair.path && policy.isAllowed(method);
}

/** The target of an alias, or of an opted-in legacy verb without one (§3.6). */
interface MethodAlias {
  readonly method: string;
  /** Parameters that §3.6 adds, as for DELETE: EXECUTE with `action: "delete"`. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** True for PUT, which becomes EXECUTE with the request's Idempotency-Key as `idempotency_key`. */
  readonly takesIdempotencyKey?: boolean;
}

const LEGACY_MAPPING: ReadonlyMap<string, MethodAlias> = new Map([
  ["GET", { method: "QUERY" }],
  ["POST", { method: "EXECUTE" }],
  ["PUT", { method: "EXECUTE", takesIdempotencyKey: true }],
  ["DELETE", { method: "EXECUTE", parameters: { action: "delete" } }],
  ["PATCH", { method: "EXECUTE", parameters: { action: "modify" } }],
]);

const NO_REDIRECTS: Readonly<Record<string, string>> = {};

interface PolicyInput {
  readonly config: MethodPolicyConfig;
  readonly catalog: Catalog;
  readonly names: MethodNames;
  /** The name of the configuration file, for problems. */
  readonly file: string;
}

/** Checks and compiles the policy. Methods removed from the catalog are skipped with a warning, §9.4. */
export function compileMethodPolicy(input: PolicyInput): {
  readonly policy: MethodPolicy;
  readonly problems: readonly Problem[];
} {
  const { config, catalog } = input;
  const problems: Problem[] = [];
  const custom = new Set(config.custom);
  const legacy = legacySet(config.legacy, catalog);
  const isKnown = (method: string): boolean =>
    catalog.has(method) || legacy.has(method) || custom.has(method);

  const keepKnown = (names: readonly string[], key: string): readonly string[] =>
    names.filter((name, index) => {
      if (isKnown(name) || catalog.legacy.has(name)) return true;
      problems.push(skipped(input.file, `policies.methods.${key}[${index}]`, name, catalog));
      return false;
    });
  const allow = config.allow === "*" ? "*" : keepKnown(config.allow, "allow");
  const disallow = keepKnown(config.disallow, "disallow");
  const { redirects, problems: redirectProblems } = compileRedirects(config.redirects, {
    names: input.names,
    file: input.file,
    isKnown,
    skip: (key, method) => skipped(input.file, key, method, catalog),
  });
  problems.push(...redirectProblems);
  const aliases = compileAliases(input, custom, problems);
  problems.push(...warnOfAliased(disallow, aliases, input.file));

  return {
    policy: createPolicy({ catalog, config, custom, legacy, allow, disallow, redirects, aliases }),
    problems,
  };
}

interface Compiled {
  readonly catalog: Catalog;
  readonly config: MethodPolicyConfig;
  readonly custom: ReadonlySet<string>;
  readonly legacy: ReadonlySet<string>;
  readonly allow: "*" | readonly string[];
  readonly disallow: readonly string[];
  readonly redirects: readonly Redirect[];
  readonly aliases: ReadonlyMap<string, string>;
}

function createPolicy(from: Compiled): MethodPolicy {
  const { catalog, custom, legacy, redirects } = from;
  const known = new Set([...catalog.verbs.keys(), ...custom]);
  const warnings = compileCatalogWarnings(catalog);
  const disallowed = new Set(from.disallow);
  const allowed = from.allow === "*" ? undefined : new Set([...from.allow, ...catalog.embedded]);
  const aliases = new Map<string, MethodAlias>();
  for (const verb of legacy) {
    const mapping = LEGACY_MAPPING.get(verb);
    if (mapping !== undefined) aliases.set(verb, mapping);
  }
  for (const [name, method] of from.aliases) aliases.set(name, { method });
  const byMethod = new Map<string, Redirect[]>();
  for (const redirect of redirects) addUnder(byMethod, redirect.fromMethod, redirect);
  // Compiled on the first unknown name, so that the start does not wait for it.
  let matcher: CloseMatcher | undefined;

  return {
    alias: (method) => aliases.get(method),
    isKnown: (method) => known.has(method),
    warningOf: (method) => (warnings.size === 0 ? undefined : warnings.get(method)),
    isAllowed: (method) =>
      !disallowed.has(method) && (allowed === undefined || allowed.has(method)),
    redirect: (method, path) => {
      for (const redirect of byMethod.get(method) ?? []) {
        const target = redirectTarget(redirect, path);
        if (target !== undefined) return target;
      }
      return undefined;
    },
    redirectsFor: (path) => {
      if (redirects.length === 0) return NO_REDIRECTS;
      const applying = redirects.filter((one) => redirectTarget(one, path) !== undefined);
      // Reversed, so that the first redirect of a method wins over later equal keys.
      return Object.fromEntries(applying.toReversed().map((one) => [one.fromMethod, one.toMethod]));
    },
    closeMatches: (name, max) => {
      matcher ??= compileCloseMatches(known);
      return matcher(name, max);
    },
    projection: projectPolicy(from),
  };
}

function legacySet(legacy: MethodPolicyConfig["legacy"], catalog: Catalog): ReadonlySet<string> {
  if (legacy === "NONE") return new Set();
  return new Set(legacy === "*" ? catalog.legacy.keys() : legacy);
}

/** Compiles the aliases, which are single-hop: chains, cycles and unknown targets stop the start.   §9.2 */
function compileAliases(
  { config, catalog, file }: PolicyInput,
  custom: ReadonlySet<string>,
  problems: Problem[],
): ReadonlyMap<string, string> {
  const known = (method: string): boolean => catalog.has(method) || custom.has(method);
  if (config.aliases === undefined) {
    const seed = [...catalog.legacy].map(([verb, { preferred }]) => [verb, preferred] as const);
    return new Map(seed.filter(([, preferred]) => known(preferred)));
  }
  const aliases = new Map(Object.entries(config.aliases));
  for (const [alias, method] of aliases) {
    const key = `policies.methods.aliases.${alias}`;
    const report = (message: string): number => problems.push({ file, key, message });
    if (aliases.has(method)) report(`"${method}" is itself an alias; aliases are single-hop`);
    else if (!known(method)) report(`"${method}" is no method of the catalog or of custom`);
    if (catalog.embedded.includes(alias)) report(`the floor method "${alias}" cannot be an alias`);
  }
  return aliases;
}

/** Warns of a disallowed name that is an alias: it is resolved first, and never judged by that name.   §9.2 */
function warnOfAliased(
  disallow: readonly string[],
  aliases: ReadonlyMap<string, string>,
  file: string,
): Problem[] {
  return disallow.flatMap((name) => {
    const method = aliases.get(name);
    if (method === undefined) return [];
    const message = `"${name}" has no effect: it is an alias, and judged as "${method}"`;
    return [{ file, key: "policies.methods.disallow", message, severity: "warning" }];
  });
}

function skipped(file: string, key: string, method: string, catalog: Catalog): Problem {
  const message = `skipped: "${method}" is not in the method catalog ${catalog.version}`;
  return { file, key, message, severity: "warning" };
}

function projectPolicy({
  config,
  allow,
  disallow,
  redirects,
  aliases,
}: Compiled): Record<string, unknown> {
  return {
    allow,
    disallow,
    legacy: config.legacy,
    aliases: Object.fromEntries(aliases),
    redirects: redirects.map(({ fromMethod, fromPath, toMethod, toPath }) => ({
      ...given({ from_method: fromMethod, from_path: fromPath }),
      ...given({ to_method: toMethod, to_path: toPath }),
    })),
  };
}

interface RedirectRules {
  readonly names: MethodNames;
  readonly file: string;
  isKnown(method: string): boolean;
  /** Builds the warning about an entry whose method the catalog lacks, §9.4. */
  skip(key: string, method: string): Problem;
}

/**
 * Returns the valid redirects, those with a path first, so that the more specific one wins. Paths
 * may be templates whose parameters are carried over.   AGTP-API §9.2
 */
function compileRedirects(
  redirects: readonly Redirect[],
  rules: RedirectRules,
): { readonly redirects: readonly Redirect[]; readonly problems: readonly Problem[] } {
  const problems: Problem[] = [];
  const kept = redirects.filter((redirect, index) => {
    const found = checkRedirect(redirect, `policies.methods.redirects[${index}]`, rules);
    problems.push(...found);
    return found.length === 0;
  });
  const hasPath = ({ fromPath }: Redirect): number => Number(fromPath !== undefined);
  const ordered = kept.toSorted((a, b) => hasPath(b) - hasPath(a));
  for (const redirect of ordered) {
    const first = ordered.find((other) => takesAllOf(other, redirect)) ?? redirect;
    if (first === redirect) continue;
    const key = `policies.methods.redirects[${redirects.indexOf(redirect)}]`;
    const message = `is never reached: redirects[${redirects.indexOf(first)}] applies to the same requests first`;
    problems.push({ file: rules.file, key, message, severity: "warning" });
  }
  return { redirects: ordered, problems };
}

/** Tells whether `one` applies to every request of `other`, also of itself; a parameter matches any parameter. */
function takesAllOf(one: Redirect, other: Redirect): boolean {
  if (one.fromMethod !== other.fromMethod) return false;
  return redirectTarget(one, other.fromPath ?? "") !== undefined;
}

function checkRedirect(redirect: Redirect, key: string, rules: RedirectRules): Problem[] {
  const { fromMethod, fromPath = "", toMethod, toPath = "" } = redirect;
  const unknown = [fromMethod, toMethod].find((method) => !rules.isKnown(method));
  if (unknown !== undefined) return [rules.skip(key, unknown)];
  const { names, file } = rules;
  const problems: Problem[] = [];
  for (const [member, path] of [["from_path", fromPath] as const, ["to_path", toPath] as const]) {
    const fault = path === "" ? undefined : checkTemplate(path, names);
    if (fault) problems.push({ file, key: `${key}.${member}`, message: fault.message });
  }
  const taken = templateParameters(fromPath);
  const missing = templateParameters(toPath).find((name) => !taken.includes(name));
  if (missing === undefined) return problems;
  const message = `needs "{${missing}}", which from_path lacks`;
  return [...problems, { file, key: `${key}.to_path`, message }];
}

/** Returns the pair that a redirect leads to; undefined if it does not apply. */
function redirectTarget(redirect: Redirect, path: string): Pair | undefined {
  const { fromPath, toPath = path, toMethod } = redirect;
  if (fromPath === undefined || fromPath === path) return { method: toMethod, path: toPath };
  const values = matchSegments(fromPath, path);
  if (values === undefined) return undefined;
  return { method: toMethod, path: fillTemplate(toPath, (name) => values.get(name)) };
}

function matchSegments(template: string, path: string): ReadonlyMap<string, string> | undefined {
  const open = template.indexOf("{");
  // A fast path: an imported API may have a redirect for each of hundreds of operations.
  if (open === -1 || !path.startsWith(template.slice(0, open))) return undefined;
  const expected = template.split("/");
  const actual = path.split("/");
  if (expected.length !== actual.length) return undefined;
  const values = new Map<string, string>();
  for (const [index, segment] of expected.entries()) {
    const value = actual[index] ?? "";
    if (segment.startsWith("{") && value !== "") values.set(segment.slice(1, -1), value);
    else if (segment !== value) return undefined;
  }
  return values;
}
