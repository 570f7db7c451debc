/**
 * The HTTP method and path under which the sidecar serves an endpoint: the HTTP verb that is an
 * alias of the method, or the path with the method's name at its end, from where the sidecar lifts
 * it. The import reverses both. Also the public part of an endpoint, which exports show.
 * AGTP-API §8.9, §9.2, §14.2
 */

import { isRecord, recordIn, textsIn } from "../base/json-value.ts";
import { type Catalog, HTTP_VERBS, type Verb } from "../catalog/catalog.ts";
import type { Pair } from "../catalog/pair.ts";
import { templateParameters } from "../catalog/path-grammar.ts";
import type { EndpointDefinition } from "../endpoint/endpoint.ts";
import { declaredTypes, propertiesOf } from "../endpoint/input-shape.ts";
import { readProposedSemantic } from "../endpoint/semantic-block.ts";

/** The HTTP request for an endpoint. */
export interface HttpForm {
  /** Lower case, as in OpenAPI. */
  readonly method: "get" | "post" | "put" | "delete" | "patch";
  readonly path: string;
  /** True if fields outside the path are sent in the body, not in the query. */
  readonly hasBody: boolean;
}

/** HTTP verb to method, as in `policies.methods.aliases`. */
export type HttpAliases = ReadonlyMap<string, string>;

const BODY_VERBS: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);
const SCALARS: ReadonlySet<string> = new Set(["string", "integer", "number", "boolean"]);
/** Schema keywords that a list of parameters can express. */
const PLAIN: ReadonlySet<string> = new Set([
  ...["type", "properties", "required", "additionalProperties", "$defs", "$schema", "$id"],
  ...["title", "description"],
]);

/** The HTTP request for an endpoint, given the alias map. */
export function httpForm(
  endpoint: ExportedEndpoint,
  aliases: HttpAliases,
  catalog: Catalog,
): HttpForm {
  const { method, path, semantic } = endpoint;
  const isSimple = fitsQuery(endpoint);
  const verb = HTTP_VERBS.find((name) => aliases.get(name) === method);
  if (verb !== undefined && (BODY_VERBS.has(verb) || isSimple)) {
    return {
      method: verb.toLowerCase() as HttpForm["method"],
      path,
      hasBody: BODY_VERBS.has(verb),
    };
  }
  const lifted = `${path === "/" ? "" : path}/${method.toLowerCase()}`;
  const known = catalog.verbs.get(method);
  const mayRead = known !== undefined && canRead(known) && semantic.impact === "informational";
  const isGet = isSimple && mayRead;
  return { method: isGet ? "get" : "post", path: lifted, hasBody: !isGet };
}

/** The fields outside the path. */
export function otherFields({ path, inputSchema }: ExportedEndpoint): readonly string[] {
  const taken = templateParameters(path);
  return Object.keys(propertiesOf(inputSchema)).filter((name) => !taken.includes(name));
}

/** Returns true if a query, one text per name, can carry every field. */
function fitsQuery(endpoint: ExportedEndpoint): boolean {
  const { inputSchema } = endpoint;
  if (!Object.keys(inputSchema).every((keyword) => PLAIN.has(keyword))) return false;
  return otherFields(endpoint).every((name) =>
    [...declaredTypes(propertiesOf(inputSchema)[name], inputSchema)].every((one) =>
      SCALARS.has(one),
    ),
  );
}

/** The public part of an endpoint definition. */
export type ExportedEndpoint = Pick<
  EndpointDefinition,
  | "method"
  | "path"
  | "description"
  | "namespace"
  | "semantic"
  | "inputSchema"
  | "outputSchema"
  | "errors"
  | "requiredScopes"
  | "deprecated"
>;

/** Reads an entry of a manifest's `endpoints`; undefined if it is invalid. */
export function readManifestEndpoint(entry: unknown): ExportedEndpoint | undefined {
  if (!isRecord(entry)) return undefined;
  const { method, path, description, namespace, deprecated } = entry;
  const { input_schema: inputSchema, output_schema: outputSchema } = entry;
  const block = readProposedSemantic(entry["semantic"]);
  if (typeof method !== "string" || typeof path !== "string" || !("semantic" in block)) {
    return undefined;
  }
  if (!isRecord(inputSchema) || !isRecord(outputSchema)) return undefined;
  const since = recordIn(deprecated)["deprecated_in"];
  return {
    ...{ method, path, semantic: block.semantic, inputSchema, outputSchema },
    description: typeof description === "string" ? description : `${method} ${path}`,
    ...(typeof namespace === "string" ? { namespace } : {}),
    errors: textsIn(entry["errors"]),
    requiredScopes: textsIn(entry["required_scopes"]),
    ...(typeof since === "string" && isRecord(deprecated)
      ? { deprecated: { ...deprecated, deprecated_in: since } }
      : {}),
  };
}

/** Returns the method that a word names; undefined if it names none that may be lifted. */
type MethodOf = (word: string) => string | undefined;

const READING_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);
const READING_CATEGORIES: ReadonlySet<string> = new Set(["discovery", "retrieval", "analysis"]);
const NONE: ReadonlySet<string> = new Set();

/** Returns true if an HTTP method is safe. */
export function isReading(httpMethod: string): boolean {
  return READING_METHODS.has(httpMethod);
}

/** Returns true if a safe HTTP method may stand for the method. */
export function canRead({ categories }: Pick<Verb, "categories">): boolean {
  return categories.some((category) => READING_CATEGORIES.has(category));
}

/** Returns true if a method does nothing but read. */
export function onlyReads({ categories }: Pick<Verb, "categories">): boolean {
  return categories.every((category) => READING_CATEGORIES.has(category));
}

/**
 * Creates a reader that compares words like the path grammar: in any case, without "-" and "_". A
 * link that is followed or prefetched must not cancel anything, and `DELETE /apps/7/grant` takes a
 * grant away, so the HTTP method is considered, too.
 */
export function methodReader(
  catalog: Catalog,
  httpMethod: string,
  custom: ReadonlySet<string> = NONE,
): MethodOf {
  if (httpMethod === "DELETE") return () => undefined;
  return (word) => {
    const name = word.replace(/[-_]/g, "").toUpperCase();
    const verb = catalog.verbs.get(name);
    if (verb === undefined) return custom.has(name) && !isReading(httpMethod) ? name : undefined;
    return isReading(httpMethod) && !canRead(verb) ? undefined : name;
  };
}

/**
 * Lifts a method out of the last path segment, or a `:suffix` of it; returns it with the rest of
 * the path: `POST /orders/7/cancel` and `POST /orders/7:cancel` both become `CANCEL /orders/7`.
 * Undefined if it names no method.   AGTP-API §5.1, §14.1
 */
export function liftVerb(path: string, methodOf: MethodOf): Pair | undefined {
  const slash = path.lastIndexOf("/");
  if (slash === -1) return undefined;
  const last = path.slice(slash + 1);
  const whole = methodOf(last);
  if (whole !== undefined) return { method: whole, path: path.slice(0, slash) || "/" };
  const colon = last.lastIndexOf(":");
  // Lifting a lone ":cancel" would leave an empty segment.
  if (colon < 1) return undefined;
  const method = methodOf(last.slice(colon + 1));
  return method === undefined ? undefined : { method, path: path.slice(0, slash + 1 + colon) };
}
