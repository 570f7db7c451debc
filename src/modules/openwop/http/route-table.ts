/**
 * Which operation a request is for. Paths of this API have names behind a colon and values of any
 * length, so they are matched here, segment by segment, each value decoded once.
 */

/** The method and path that a route is found by. */
export interface RoutedOperation {
  readonly method: string;
  /** `{name}` for parameters, perhaps with `:word` behind it. */
  readonly path: string;
}

/** The operation, or which methods there are at this path; undefined: there is nothing. */
export type RouteMatch<Operation> =
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

export class RouteTable<Operation extends RoutedOperation> {
  readonly #routes: readonly CompiledRoute<Operation>[];

  /** The first route that matches is meant. */
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
    const value = decode(segment.slice(0, segment.length - suffix.length));
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

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
