/**
 * Finds subjects for cases in the manifest's policy, the server's catalog and its registered
 * endpoints: a disallowed method, a path that is registered under another method, a deprecated
 * verb.   AGTP-API §4, §6.1, §9
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

/** The valid part of `policies.methods`.   AGTP-API §9.2 */
export interface MethodPolicy {
  /** Undefined if the whole catalog is allowed. */
  readonly allow: readonly string[] | undefined;
  readonly disallow: readonly string[];
  readonly legacy: readonly string[];
  readonly aliases: ReadonlyMap<string, string>;
  readonly redirects: readonly JsonRecord[];
}

/** Floor methods that have no effect on a path they are not registered for. */
const HARMLESS = ["SUMMARIZE", "PLAN", "INSPECT", "DESCRIBE", "QUERY"];

/** Reads the policy of a manifest; missing fields have the draft's defaults. */
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

/** The method names in an array of names or of objects with a name. */
export function namesOf(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  return value
    .map((entry) => (isRecord(entry) ? (entry["name"] ?? entry["method"]) : entry))
    .filter((name): name is string => typeof name === "string" && isMethodName(name));
}

/** Returns true if the policy refuses or rewrites the method. */
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

/** A catalog method that the allow list omits. */
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

/** A deprecated verb that the server admits, with the warning header of its responses. */
export function deprecatedVerb(policy: MethodPolicy, catalog: Catalog): Subject | undefined {
  const deprecated = [...catalog.verbs.values()].filter((verb) => !isTouched(policy, verb.name));
  for (const verb of deprecated) {
    const warning = catalogWarning(verb);
    if (warning !== undefined) return { method: verb.name, warning };
  }
  return undefined;
}

/** The methods of each registered path, without parameterised paths and the root. */
type KnownPaths = ReadonlyMap<string, ReadonlySet<string>>;

/** Collects the paths of a manifest's endpoints. */
export function readPaths(endpoints: readonly JsonRecord[]): KnownPaths {
  const paths = new Map<string, Set<string>>();
  for (const { method, path } of endpoints) {
    if (typeof method !== "string" || typeof path !== "string") continue;
    if (/[{}]/.test(path) || path === "/") continue;
    paths.set(path, (paths.get(path) ?? new Set<string>()).add(method));
  }
  return paths;
}

/** A registered path, and a method that is not registered there, so that a request cannot have an effect. */
export function strangePath(paths: KnownPaths, method: string | undefined): Subject | undefined {
  if (method === undefined) return undefined;
  for (const [path, methods] of paths) if (!methods.has(method)) return { method, path };
  return undefined;
}

/** A registered path, one of its methods, and a method that it lacks. */
export function knownPath(paths: KnownPaths, policy: MethodPolicy): Subject | undefined {
  for (const [path, methods] of paths) {
    const other = HARMLESS.find((method) => !methods.has(method) && !isTouched(policy, method));
    const registered = [...methods].find((method) => !isTouched(policy, method));
    if (other !== undefined && registered !== undefined) return { path, other, registered };
  }
  return undefined;
}

/** A redirect to a read-only endpoint. */
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

/** An alias of the method of a read-only endpoint. */
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
