/**
 * Redirects of the method policy: a request that matches one is answered as if its target had been
 * requested. Paths may be templates; what a parameter takes is carried over.   AGTP-API §9.2
 */

import type { Problem } from "../../base/problem.ts";
import { fillTemplate } from "../../base/template.ts";
import type { Pair } from "../../catalog/pair.ts";
import { checkTemplate, type MethodNames, templateParameters } from "../../catalog/path-grammar.ts";
import type { Redirect } from "./policies-config.ts";

/** The rules that redirects are checked against. */
export interface RedirectRules {
  readonly names: MethodNames;
  readonly file: string;
  isKnown(method: string): boolean;
  /** The warning about an entry that names a method the catalog does not have, §9.4. */
  skip(key: string, method: string): Problem;
}

/** The entries that apply, those with a path first, so that the more specific one wins. */
export function compileRedirects(
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
  return { redirects: kept.toSorted((a, b) => hasPath(b) - hasPath(a)), problems };
}

function checkRedirect(redirect: Redirect, key: string, rules: RedirectRules): Problem[] {
  const { fromMethod, fromPath = "", toMethod, toPath = "" } = redirect;
  const unknown = [fromMethod, toMethod].find((method) => !rules.isKnown(method));
  if (unknown !== undefined) return [rules.skip(key, unknown)];
  const faults = [fromPath, toPath].flatMap((path) =>
    path === "" ? [] : (checkTemplate(path, rules.names)?.message ?? []),
  );
  const taken = templateParameters(fromPath);
  const missing = templateParameters(toPath).find((name) => !taken.includes(name));
  if (missing !== undefined) faults.push(`to_path needs "{${missing}}", which from_path lacks`);
  return faults.map((message) => ({ file: rules.file, key, message }));
}

/** The path that a redirect sends this one to; undefined where it does not apply. */
export function redirectTarget(redirect: Redirect, path: string): Pair | undefined {
  const { fromPath, toPath = path, toMethod } = redirect;
  if (fromPath === undefined || fromPath === path) return { method: toMethod, path: toPath };
  const values = matchSegments(fromPath, path);
  if (values === undefined) return undefined;
  return { method: toMethod, path: fillTemplate(toPath, (name) => values.get(name)) };
}

function matchSegments(template: string, path: string): ReadonlyMap<string, string> | undefined {
  const open = template.indexOf("{");
  // An imported API has a redirect for each of hundreds of operations; nearly all end here.
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
