/**
 * Redirects that let HTTP clients go on as they are: through the sidecar `GET /pets` is `FETCH /pets`,
 * which leads to the endpoint that the operation has become. One is written only where it changes
 * nothing for any other endpoint.   AGTP-API §9.2, §14.3
 */
import { fillTemplate, templateNames } from "../base/template.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { checkTemplate, type MethodNames } from "../catalog/path-grammar.ts";
import type { DraftedEndpoint } from "./import-operation.ts";
import { liftVerb, methodReader } from "./lift-verb.ts";
import { PairSet } from "./pair-set.ts";

/** One entry of `[[policies.methods.redirects]]`. */
export interface HttpRedirect {
  readonly from_method: string;
  readonly from_path: string;
  readonly to_method: string;
  readonly to_path: string;
}

/** The redirects of imported endpoints, those with fewer parameters first. */
export function httpRedirects(
  endpoints: readonly DraftedEndpoint[],
  catalog: Catalog,
  names: MethodNames,
): readonly HttpRedirect[] {
  const wanted = endpoints.flatMap((endpoint) => redirectTo(endpoint, catalog, names) ?? []);
  const served = new PairSet();
  for (const { method, path } of endpoints) served.add(method, path);
  // A redirect goes before the endpoints: it may only take what is its own.
  const free = wanted.filter(({ from_method: method, from_path: path }) =>
    served.overlapping(method, path).every((other) => isNarrower(path, other)),
  );
  const parameters = ({ from_path: path }: HttpRedirect): number => path.split("{").length;
  const earlier = new PairSet();
  return free
    .toSorted((a, b) => parameters(a) - parameters(b))
    .filter(({ from_method: method, from_path: path }) => {
      // Of two that could both apply with equal right, the first one stands.
      const isFirst = !earlier.isAmbiguous(method, path);
      earlier.add(method, path);
      return isFirst;
    });
}

/** Tells whether a template matches some of the paths that another one matches, and no others. */
function isNarrower(path: string, other: string): boolean {
  const theirs = other.split("/");
  const pairs = path.split("/").map((segment, index) => [segment, theirs[index] ?? ""] as const);
  return (
    pairs.every(([ours, their]) => their.startsWith("{") || ours === their) &&
    pairs.some(([ours, their]) => their.startsWith("{") && !ours.startsWith("{"))
  );
}

/** The pair that the sidecar makes of the operation's own method and path, where that is another one. */
function redirectTo(
  { operation, method, path, table }: DraftedEndpoint,
  catalog: Catalog,
  names: MethodNames,
): HttpRedirect | undefined {
  const [plain = ""] = operation.path.split(/[?#]/, 1);
  const parameters = templateNames(path);
  let index = 0;
  const renamed = fillTemplate(plain, () => {
    index += 1;
    return `{${parameters[index - 1] ?? ""}}`;
  });
  const lifted = liftVerb(renamed, methodReader(catalog, operation.httpMethod));
  const fromMethod = lifted?.method ?? catalog.legacy.get(operation.httpMethod)?.preferred;
  const fromPath = lifted?.path ?? renamed;
  if (fromMethod === undefined || !catalog.has(fromMethod) || table["method"] !== method) {
    return undefined;
  }
  if (fromMethod === method && fromPath === path) return undefined;
  if (checkTemplate(fromPath, names) !== undefined) return undefined;
  return { from_method: fromMethod, from_path: fromPath, to_method: method, to_path: path };
}
