/**
 * Admits requests: checks the key, then that the operation exists, then the key's scopes. 401 unknown key · 404 no such
 * path · 405 other method · 403 missing scope. Paths end in names behind a colon and have values of any length, so they
 * are matched here, segment by segment.   OpenWOP "auth"
 */

import { decodePart } from "../../../base/percent-encoding.ts";
import type { RunCaller } from "../runs/run-entry.ts";
import { type ApiAnswer, notFound, otherMethods, refuse, unauthenticated } from "./answer.ts";
import type { ApiParts, Authorized } from "./api-route.ts";
import { API_ROUTES } from "./routes.ts";

/** The operation, or the allowed methods of this path; undefined if the path is unknown. */
type RouteMatch<Operation> =
  | {
      readonly kind: "found";
      readonly route: Operation;
      readonly params: Readonly<Record<string, string>>;
    }
  | { readonly kind: "other-methods"; readonly allowed: readonly string[] };

type Matcher = (segment: string) => readonly [string, string] | boolean;

interface CompiledRoute<Operation> {
  readonly route: Operation;
  readonly segments: readonly Matcher[];
}

const PARAMETER = /^\{(\w+)\}(:[a-z-]+)?$/;

export class RouteTable<Operation extends { readonly method: string; readonly path: string }> {
  readonly #routes: readonly CompiledRoute<Operation>[];

  /** The first matching route wins. */
  constructor(routes: readonly Operation[]) {
    this.#routes = routes.map((route) => ({
      route,
      segments: route.path.split("/").map(compileSegment),
    }));
  }

  find(method: string, path: string): RouteMatch<Operation> | undefined {
    const allowed: string[] = [];
    const segments = path.split("/");
    for (const { route, segments: matchers } of this.#routes) {
      const params = match(matchers, segments);
      if (params === undefined) continue;
      if (route.method === method) return { kind: "found", route, params };
      allowed.push(route.method);
    }
    return allowed.length === 0 ? undefined : { kind: "other-methods", allowed };
  }
}

function compileSegment(template: string): Matcher {
  const [, name, suffix = ""] = PARAMETER.exec(template) ?? [];
  if (name === undefined) return (segment) => segment === template;
  return (segment) => {
    if (!segment.endsWith(suffix) || segment.length === suffix.length) return false;
    const value = decodePart(segment.slice(0, segment.length - suffix.length));
    return value !== undefined && [name, value];
  };
}

function match(
  matchers: readonly Matcher[],
  segments: readonly string[],
): Readonly<Record<string, string>> | undefined {
  if (matchers.length !== segments.length) return undefined;
  const params: (readonly [string, string])[] = [];
  for (const [index, matcher] of matchers.entries()) {
    const found = matcher(segments[index] ?? "");
    if (found === false) return undefined;
    if (found !== true) params.push(found);
  }
  return Object.fromEntries(params);
}

const TABLE = new RouteTable(API_ROUTES);

/** Authorizes a request, or returns the refusal. */
export function authorize(
  method: string,
  url: string,
  headers: { readonly authorization?: string | undefined },
  parts: ApiParts,
): Authorized | ApiAnswer {
  const key = parts.keys.find(headers.authorization);
  if (key === undefined) return unauthenticated();
  const [path = ""] = url.split("?");
  const match = TABLE.find(method === "HEAD" ? "GET" : method, path);
  if (match === undefined) return notFound();
  if (match.kind === "other-methods") return otherMethods(match.allowed);
  const { route, params } = match;
  if (route.isConformance === true && !parts.settings.conformance) return notFound();
  const requiredScope = route.scopes.find((scope) => !key.scopes.has(scope));
  if (requiredScope !== undefined) {
    const message = `the key is not good for this, which needs the scope ${requiredScope}`;
    return refuse(403, "forbidden", message, { requiredScope });
  }
  const { tenant, name: principal, agtpScopes } = key;
  const caller: RunCaller = { owner: { tenant, principal, scopes: agtpScopes }, sees: "tenant" };
  return { parts, route, params, key, caller };
}
