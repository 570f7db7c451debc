/**
 * The operations of a document, one by one, with what they inherit from their path: parameters,
 * servers, security. The order is the document's, and so is that of everything made from them.
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
  /** The whole object. */
  readonly raw: JsonRecord;
}

/** One operation, with what it inherits. */
export interface Operation {
  /** As the document has it. */
  readonly path: string;
  readonly httpMethod: UpstreamMethod;
  /** Undefined where the document has none. */
  readonly id: string | undefined;
  readonly raw: JsonRecord;
  /** The parts that an endpoint is made of, with their references. */
  readonly needed: readonly unknown[];
  readonly parameters: readonly Parameter[];
  /** Undefined: without a body. */
  readonly requestBody: JsonRecord | undefined;
  /** By status, ranges and "default" included. */
  readonly responses: ReadonlyMap<string, JsonRecord>;
  /** Those that are successes; without any in the document, "default" is one. */
  readonly successes: readonly JsonRecord[];
  /** Server objects, the nearest ones. */
  readonly servers: readonly unknown[];
  /** Security requirements, the nearest ones. */
  readonly security: readonly unknown[];
  readonly tags: readonly string[];
}

/** Fields of a path item with an operation each, for methods that no external service has.   AGTP-API §12.3 */
const UNSENT_METHODS: readonly string[] = ["TRACE", "QUERY"];

/** Every operation of a document that an external service can ask for. */
export function operationsOf(document: JsonRecord): readonly Operation[] {
  const otherTags = namesOfOtherTags(document);
  return findOperations(document).flatMap((found) => {
    const { method } = found;
    return isUpstreamMethod(method) ? [readOperation(document, found, { method, otherTags })] : [];
  });
}

/** The others, as `QUERY /pets`: their HTTP methods are none that an external service has.   AGTP-API §12.3 */
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
  /** As it is sent: methods differ in case.   RFC 9110 §9.1 */
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

/** Kinds of tags that say who may see an operation, or how it looks, and not what it is about. */
const OTHER_KINDS: readonly unknown[] = ["audience", "badge"];

/** OAS 3.2.0 §4.22 */
function namesOfOtherTags({ tags }: JsonRecord): ReadonlySet<unknown> {
  const declared = (asList(tags) ?? []).map(recordIn);
  return new Set(declared.filter(({ kind }) => OTHER_KINDS.includes(kind)).map(({ name }) => name));
}

/** Reads parameters; an operation's replaces its path's of the same name and place. */
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
