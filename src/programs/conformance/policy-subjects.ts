/**
 * Subjects that the manifest's policy, the server's catalog and its registered pairs give cases to ask about:
 * a method that is disallowed, a path that is known under another method, a verb that is deprecated.
 * AGTP-API §4, §6.1, §9
 */
import { isRecord, type JsonRecord, recordIn, recordsIn } from "../../base/json-value.ts";
import {
  type Catalog,
  catalogWarning,
  FLOOR_METHODS,
  HTTP_VERBS,
  isMethodName,
} from "../../catalog/catalog.ts";
import { fillPath, type Subject, type Trial } from "./trial.ts";

/** `policies.methods` as far as it is what it should be.   AGTP-API §9.2 */
export interface MethodPolicy {
  /** Undefined: all of the catalog. */
  readonly allow: readonly string[] | undefined;
  readonly disallow: readonly string[];
  readonly legacy: readonly string[];
  readonly aliases: ReadonlyMap<string, string>;
  readonly redirects: readonly JsonRecord[];
}

/** Methods of the floor that do nothing where they are not registered. */
const HARMLESS = ["SUMMARIZE", "PLAN", "INSPECT", "DESCRIBE", "QUERY"];

/** Reads the policy of a manifest; what a server leaves out has the draft's default. */
export function readPolicy(manifest: JsonRecord): MethodPolicy {
  const { policies } = manifest;
  const methods = recordIn(policies)["methods"];
  const { allow, disallow, legacy, aliases, redirects } = recordIn(methods);
  return {
    allow: Array.isArray(allow) ? namesOf(allow) : undefined,
    disallow: namesOf(disallow),
    legacy: legacy === "*" ? HTTP_VERBS : namesOf(legacy),
    aliases: new Map(
      Object.entries(recordIn(aliases)).flatMap(([alias, method]) =>
        isMethodName(alias) && typeof method === "string" ? [[alias, method] as const] : [],
      ),
    ),
    redirects: recordsIn(redirects),
  };
}

/** The method names of an array, or of objects that have a name. */
export function namesOf(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  return value
    .map((entry) => (isRecord(entry) ? (entry["name"] ?? entry["method"]) : entry))
    .filter((name): name is string => typeof name === "string" && isMethodName(name));
}

/** Tells whether the policy itself would turn the method away, or into another. */
export function isTouched(policy: MethodPolicy, method: string): boolean {
  const isUnlisted = policy.allow !== undefined && !policy.allow.includes(method);
  return (
    policy.disallow.includes(method) ||
    policy.aliases.has(method) ||
    policy.redirects.some(({ from_method: from }) => from === method) ||
    (isUnlisted && !isFloor(method))
  );
}

function isFloor(method: string): boolean {
  return FLOOR_METHODS.some((floor) => floor === method);
}

/** A method of the catalog that an allow list leaves out. */
export function unlistedMethod(
  policy: MethodPolicy,
  catalog: Catalog,
  registered: ReadonlySet<string>,
): string | undefined {
  const { allow, disallow, aliases } = policy;
  if (allow === undefined) return undefined;
  return [...catalog.verbs.keys()].find(
    (method) =>
      ![...allow, ...disallow].includes(method) &&
      !aliases.has(method) &&
      !isFloor(method) &&
      !registered.has(method),
  );
}

/** A deprecated verb that the server admits, and the header that its responses carry. */
export function deprecatedVerb(policy: MethodPolicy, catalog: Catalog): Subject | undefined {
  const deprecated = [...catalog.verbs.values()].filter((verb) => !isTouched(policy, verb.name));
  for (const verb of deprecated) {
    const warning = catalogWarning(verb);
    if (warning !== undefined) return { method: verb.name, warning };
  }
  return undefined;
}

/** The methods of registered paths; those with parameters, and the root, are left out. */
type KnownPaths = ReadonlyMap<string, ReadonlySet<string>>;

/** Reads the paths of a manifest's endpoints. */
export function readPaths(endpoints: readonly JsonRecord[]): KnownPaths {
  const paths = new Map<string, Set<string>>();
  for (const { method, path } of endpoints) {
    if (typeof method !== "string" || typeof path !== "string") continue;
    if (/[{}]/.test(path) || path === "/") continue;
    paths.set(path, (paths.get(path) ?? new Set<string>()).add(method));
  }
  return paths;
}

/** A registered path that this method is not registered under: nothing can come of asking there. */
export function strangePath(paths: KnownPaths, method: string | undefined): Subject | undefined {
  if (method === undefined) return undefined;
  for (const [path, methods] of paths) if (!methods.has(method)) return { method, path };
  return undefined;
}

/** A registered path, one of its methods, and one that it has not. */
export function knownPath(paths: KnownPaths, policy: MethodPolicy): Subject | undefined {
  for (const [path, methods] of paths) {
    const other = HARMLESS.find((method) => !methods.has(method) && !isTouched(policy, method));
    const registered = [...methods].find((method) => !isTouched(policy, method));
    if (other !== undefined && registered !== undefined) return { path, other, registered };
  }
  return undefined;
}

/** A redirect that leads to an endpoint which only reads. */
export function redirectSubject(
  { redirects, disallow }: MethodPolicy,
  trials: readonly Trial[],
): Subject | undefined {
  for (const { from_method: method, from_path, to_method, to_path } of redirects) {
    if (typeof method !== "string" || !isMethodName(method) || disallow.includes(method)) continue;
    const trial = trials.find(
      ({ method, template }) =>
        method === to_method && template === (to_path ?? from_path ?? template),
    );
    if (trial === undefined) continue;
    const target = fillPath(
      typeof from_path === "string" ? from_path : trial.template,
      trial.inPath,
    );
    if (target.includes("{")) continue;
    return { method, target, input: trial.input, output_schema: trial.endpoint["output_schema"] };
  }
  return undefined;
}

/** An alias of a method that an endpoint which only reads is registered under. */
export function aliasSubject(
  { aliases }: MethodPolicy,
  trials: readonly Trial[],
): Subject | undefined {
  for (const [alias, method] of aliases) {
    const trial = trials.find((candidate) => candidate.method === method);
    if (trial === undefined) continue;
    const { target, input, endpoint } = trial;
    return { method: alias, target, input, output_schema: endpoint["output_schema"] };
  }
  return undefined;
}
