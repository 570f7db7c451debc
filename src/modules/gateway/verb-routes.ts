/**
 * From an HTTP method and path to what is asked for in AGTP: the method whose name the path ends
 * with, else the HTTP method, which a gate knows under another name. A link that is followed or
 * fetched ahead must not cancel anything: methods that only read lift only what only informs.
 * AGTP-API §5.1, §9.2
 */
import { type Catalog, HTTP_VERBS } from "../../catalog/catalog.ts";
import type { Pair } from "../../catalog/pair.ts";
import { checkPath, type MethodNames } from "../../catalog/path-grammar.ts";
import type { MethodPolicy } from "../../dispatch/policy/method-policy.ts";
import type { Route } from "../../dispatch/routes/route.ts";
import type { EndpointRegistry } from "../../endpoint/endpoint-registry.ts";
import type { InputShape } from "../../endpoint/input-shape.ts";
import { isReading, liftVerb, methodReader } from "../../openapi/lift-verb.ts";
import { FURTHER_METHODS } from "./http-target.ts";

/** The methods that an HTTP client can send and a catalog can have. */
const SHARED_METHODS: readonly string[] = ["QUERY", ...FURTHER_METHODS];

/** The endpoints of a server, and their names. */
interface VerbParts {
  readonly catalog: Catalog;
  /** The names that no path may have as a segment. */
  readonly names: MethodNames;
  /** `policies.methods.custom` */
  readonly customMethods: readonly string[];
  readonly methodPolicy: MethodPolicy;
  readonly registry: EndpointRegistry<Route>;
}

/** The HTTP form of the method table. */
export interface VerbRoutes {
  /** The pair that a request asks for; the method may still have an alias. */
  translate(httpMethod: string, path: string): Pair;
  /** The shape of the input of the endpoint that is asked for; undefined: there is none. */
  shapeOf(pair: Pair): InputShape | undefined;
  /** The HTTP methods that find an endpoint at a path, as an Allow field lists them. */
  allowed(path: string): readonly string[];
}

/** Compiles the names that may be lifted. */
export function createVerbRoutes(parts: VerbParts): VerbRoutes {
  const { catalog, names, customMethods, methodPolicy, registry } = parts;
  const methodOf = methodReader(catalog, "POST", new Set(customMethods));
  const find = (pair: Pair): Route | undefined => {
    const method = methodPolicy.alias(pair.method)?.method ?? pair.method;
    if (checkPath(pair.path, names) !== undefined || !methodPolicy.isAllowed(method)) {
      return undefined;
    }
    const target = methodPolicy.redirect(method, pair.path) ?? { method, path: pair.path };
    if (!methodPolicy.isAllowed(target.method)) return undefined;
    return registry.find(target.method, target.path)?.entry;
  };
  const translate = (httpMethod: string, path: string): Pair => {
    // The pipeline answers GET; what is asked for without its body is asked for all the same.
    const method = httpMethod === "HEAD" ? "GET" : httpMethod;
    const lifted = liftVerb(path, methodOf);
    if (lifted === undefined) return { method, path };
    if (!isReading(httpMethod)) return lifted;
    const informs = find(lifted)?.definition.semantic.impact === "informational";
    return informs ? lifted : { method, path };
  };
  return {
    translate,
    shapeOf: (pair) => find(pair)?.shape,
    allowed: (path) => {
      const found: readonly string[] = [
        ...HTTP_VERBS.filter((verb) => find(translate(verb, path)) !== undefined),
        // Any of these would lift as POST does: only what is registered under its own name counts.
        ...SHARED_METHODS.filter((method) => find({ method, path }) !== undefined),
      ];
      if (found.length === 0) return [];
      return [...found, ...(found.includes("GET") ? ["HEAD"] : []), "OPTIONS"].sort();
    },
  };
}
