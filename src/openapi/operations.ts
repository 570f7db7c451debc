/**
 * The operations of a document, one by one, with what they inherit from their path: parameters,
 * servers, security. The order is the document's, and so is that of everything made from them.
 */
import { isRecord, type JsonRecord, recordIn } from "../base/json-value.ts";
import { UPSTREAM_METHODS, type UpstreamMethod } from "../endpoint/endpoint.ts";
import { pathItems, recordAt } from "./read-document.ts";

const PARAMETER_PLACES = ["path", "query", "header", "cookie"] as const;
/** One parameter of an operation. */
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
  readonly parameters: readonly Parameter[];
  /** Undefined: without a body. */
  readonly requestBody: JsonRecord | undefined;
  /** By status, ranges and "default" included. */
  readonly responses: ReadonlyMap<string, JsonRecord>;
  /** Server objects, the nearest ones. */
  readonly servers: readonly unknown[];
  /** Security requirements, the nearest ones. */
  readonly security: readonly unknown[];
  readonly tags: readonly string[];
}

const METHODS: readonly string[] = UPSTREAM_METHODS.map((name) => name.toLowerCase());

/** Every operation of a document that HTTP can be asked for; `TRACE` is none of them. */
export function operationsOf(document: JsonRecord): readonly Operation[] {
  return pathItems(document).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method, operation]) => METHODS.includes(method) && isRecord(operation))
      .map(([method, operation]) =>
        readOperation(document, { path, item, method, raw: operation as JsonRecord }),
      ),
  );
}

interface Found {
  readonly path: string;
  readonly item: JsonRecord;
  readonly method: string;
  readonly raw: JsonRecord;
}

function readOperation(document: JsonRecord, { path, item, method, raw }: Found): Operation {
  const { operationId, requestBody, responses, tags } = raw;
  return {
    path,
    httpMethod: method.toUpperCase() as UpstreamMethod,
    id: typeof operationId === "string" && operationId.trim() !== "" ? operationId : undefined,
    raw,
    parameters: readParameters(document, item["parameters"], raw["parameters"]),
    requestBody: requestBody === undefined ? undefined : recordAt(requestBody, document),
    responses: new Map(
      Object.entries(recordIn(responses))
        .filter(([status]) => !status.startsWith("x-"))
        .map(([status, response]) => [status.toUpperCase(), recordAt(response, document)]),
    ),
    servers: firstList(raw["servers"], item["servers"], document["servers"]),
    security: asList(raw["security"]) ?? asList(document["security"]) ?? [],
    tags: (asList(tags) ?? []).filter((tag) => typeof tag === "string"),
  };
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
