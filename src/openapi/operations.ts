/**
 * The operations of a document, with what each inherits from its path: parameters, servers,
 * security. They are in document order, and so is everything derived from them.
 */
import { isRecord, type JsonRecord, recordIn } from "../base/json-value.ts";
import { UPSTREAM_METHODS, type UpstreamMethod } from "../endpoint/endpoint.ts";
import { pathItems } from "./read-document.ts";
import { recordAt } from "./references.ts";

const PARAMETER_PLACES = ["path", "query", "querystring", "header", "cookie"] as const;
export interface Parameter {
  readonly name: string;
  readonly place: (typeof PARAMETER_PLACES)[number];
  readonly isRequired: boolean;
  /** The whole parameter object. */
  readonly raw: JsonRecord;
}

/** One operation, with inherited members. */
export interface Operation {
  /** The path in the document. */
  readonly path: string;
  readonly httpMethod: UpstreamMethod;
  /** Undefined where the document has none. */
  readonly id: string | undefined;
  readonly raw: JsonRecord;
  /** The parts that an endpoint is made from, with their references. */
  readonly needed: readonly unknown[];
  readonly parameters: readonly Parameter[];
  /** Undefined if there is no body. */
  readonly requestBody: JsonRecord | undefined;
  /** By status, ranges and "default" included. */
  readonly responses: ReadonlyMap<string, JsonRecord>;
  /** The success responses; if the document has none, "default" counts as one. */
  readonly successes: readonly JsonRecord[];
  /** The server objects that apply, the nearest level's. */
  readonly servers: readonly unknown[];
  /** The security requirements that apply, the nearest level's. */
  readonly security: readonly unknown[];
  readonly tags: readonly string[];
}

/** Operations of a path item with HTTP methods that external services cannot use.   AGTP-API §12.3 */
const UNSENT_METHODS: readonly string[] = ["TRACE", "QUERY"];

/** Lists the operations that an external service can call. */
export function operationsOf(document: JsonRecord): readonly Operation[] {
  const otherTags = namesOfOtherTags(document);
  return findOperations(document).flatMap((found) => {
    const { method } = found;
    return isUpstreamMethod(method) ? [readOperation(document, found, { method, otherTags })] : [];
  });
}

/** Lists the others, as `QUERY /pets`: external services do not have their HTTP methods.   AGTP-API §12.3 */
export function unsentOperations(document: JsonRecord): readonly string[] {
  return findOperations(document)
    .filter(({ method }) => !isUpstreamMethod(method))
    .map(({ method, path }) => `${method} ${path}`);
}

function isUpstreamMethod(method: string): method is UpstreamMethod {
  return (UPSTREAM_METHODS as readonly string[]).includes(method);
}

interface Found {
  readonly path: string;
  readonly item: JsonRecord;
  /** The method as sent, since methods are case-sensitive.   RFC 9110 §9.1 */
  readonly method: string;
  readonly raw: JsonRecord;
}

function findOperations(document: JsonRecord): readonly Found[] {
  const known = [...UPSTREAM_METHODS, ...UNSENT_METHODS];
  return pathItems(document).flatMap(([path, item]) => {
    const fixed = Object.entries(item).flatMap(([name, raw]) =>
      known.includes(name.toUpperCase()) && name === name.toLowerCase()
        ? [[name.toUpperCase(), raw] as const]
        : [],
    );
    const taken = new Set(fixed.map(([method]) => method));
    const more = Object.entries(recordIn(item["additionalOperations"])).filter(
      ([method]) => !taken.has(method) && !method.startsWith("x-"),
    );
    return [...fixed, ...more].flatMap(([method, raw]) =>
      isRecord(raw) ? [{ path, item, method, raw }] : [],
    );
  });
}

function readOperation(
  document: JsonRecord,
  { path, item, raw }: Found,
  {
    method,
    otherTags,
  }: { readonly method: UpstreamMethod; readonly otherTags: ReadonlySet<unknown> },
): Operation {
  const { operationId, requestBody, tags } = raw;
  const responses = Object.entries(recordIn(raw["responses"])).filter(
    ([status]) => !status.startsWith("x-"),
  );
  const successes = successesOf(responses);
  return {
    path,
    httpMethod: method,
    id: typeof operationId === "string" && operationId.trim() !== "" ? operationId : undefined,
    raw,
    needed: [item["parameters"], raw["parameters"], requestBody, successes],
    parameters: readParameters(document, item["parameters"], raw["parameters"]),
    requestBody: requestBody === undefined ? undefined : recordAt(requestBody, document),
    responses: new Map(
      responses.map(([status, response]) => [status.toUpperCase(), recordAt(response, document)]),
    ),
    successes: successes.map((response) => recordAt(response, document)),
    servers: firstList(raw["servers"], item["servers"], document["servers"]),
    security: asList(raw["security"]) ?? asList(document["security"]) ?? [],
    tags: (asList(tags) ?? []).filter(
      (tag): tag is string => typeof tag === "string" && !otherTags.has(tag),
    ),
  };
}

function successesOf(responses: readonly (readonly [string, unknown])[]): readonly unknown[] {
  const successes = responses.filter(([status]) => /^2(?:\d\d|XX)$/i.test(status));
  const sorted = successes.toSorted(([a], [b]) => (a < b ? -1 : 1));
  const usual = responses.filter(([status]) => /^default$/i.test(status));
  return (sorted.length > 0 ? sorted : usual).map(([, response]) => response);
}

/** Kinds of tags for audience or appearance rather than subject. */
const OTHER_KINDS: readonly unknown[] = ["audience", "badge"];

/** OAS 3.2.0 §4.22 */
function namesOfOtherTags({ tags }: JsonRecord): ReadonlySet<unknown> {
  const declared = (asList(tags) ?? []).map(recordIn);
  return new Set(declared.filter(({ kind }) => OTHER_KINDS.includes(kind)).map(({ name }) => name));
}

/** Reads parameters; an operation's replaces its path's with the same name and location. */
function readParameters(
  document: JsonRecord,
  inherited: unknown,
  own: unknown,
): readonly Parameter[] {
  const parameters = new Map<string, Parameter>();
  for (const value of [...(asList(inherited) ?? []), ...(asList(own) ?? [])]) {
    const raw = recordAt(value, document);
    const { name, in: where, required } = raw;
    const place = PARAMETER_PLACES.find((known) => known === where);
    if (typeof name !== "string" || name === "" || place === undefined) continue;
    const isRequired = required === true || place === "path";
    parameters.set(`${place} ${name}`, { name, place, isRequired, raw });
  }
  return [...parameters.values()];
}

function firstList(...candidates: readonly unknown[]): readonly unknown[] {
  return candidates.map(asList).find((list) => list !== undefined && list.length > 0) ?? [];
}

function asList(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}
