/**
 * Converts an OpenAPI 3.2 document for a validator that knows 3.1: new fields are removed, and
 * fields that are no longer required are added. Violations in the new fields themselves are found
 * here.   OAS 3.2.0 §4
 */
import { isRecord, type JsonRecord, quoteValue, recordIn, recordsIn } from "../base/json-value.ts";
import { UPSTREAM_METHODS } from "../endpoint/endpoint.ts";

/** Returns true if a document declares version 3.2. */
export function isOpenApi32({ openapi }: JsonRecord): boolean {
  return /^3\.2(?:\.|$)/.test(String(openapi));
}

/** The document as 3.1, without operations of the new methods. */
export function asOpenApi31(document: JsonRecord): JsonRecord {
  const { $self: _self, openapi: _openapi, components, ...rest } = document;
  const schemes = recordIn(components)["securitySchemes"];
  return {
    openapi: "3.1.0",
    ...withServers(rest),
    ...withList(rest, "tags", (tag) => without(tag, "summary", "parent", "kind")),
    ...(schemes === undefined
      ? {}
      : { components: { securitySchemes: mapMembers(schemes, asOldScheme) } }),
    paths: mapMembers(rest["paths"], asOldPathItem),
  };
}

function asOldScheme(scheme: JsonRecord): JsonRecord {
  const { flows, ...rest } = without(scheme, "deprecated", "oauth2MetadataUrl");
  if (!isRecord(flows)) return scheme["flows"] === undefined ? rest : { ...rest, flows };
  const { deviceAuthorization: device, ...others } = flows;
  if (!isRecord(device) || Object.keys(others).length > 0) return { ...rest, flows: others };
  // Client credentials have the same fields as a device flow without its own.
  return { ...rest, flows: { clientCredentials: without(device, "deviceAuthorizationUrl") } };
}

function asOldPathItem(item: JsonRecord): JsonRecord {
  const { query: _query, additionalOperations: _more, ...rest } = item;
  const operations = Object.entries(rest).map(([name, value]) => [
    name,
    METHODS.has(name) && isRecord(value) ? asOldOperation(value) : value,
  ]);
  return withParameters(withServers(Object.fromEntries(operations)));
}

const METHODS: ReadonlySet<string> = new Set(
  [...UPSTREAM_METHODS, "TRACE"].map((name) => name.toLowerCase()),
);

function asOldOperation(operation: JsonRecord): JsonRecord {
  const { requestBody, responses } = operation;
  return {
    ...withParameters(withServers(operation)),
    ...(isRecord(requestBody) ? { requestBody: withContent(requestBody) } : {}),
    ...(isRecord(responses) ? { responses: mapMembers(responses, asOldResponse) } : {}),
  };
}

function asOldResponse(response: JsonRecord): JsonRecord {
  return { description: "", ...withContent(without(response, "summary")) };
}

function withServers(owner: JsonRecord): JsonRecord {
  return { ...owner, ...withList(owner, "servers", (server) => without(server, "name")) };
}

function withParameters(owner: JsonRecord): JsonRecord {
  const { parameters } = owner;
  if (!Array.isArray(parameters)) return owner;
  const known = parameters
    .filter((one) => !isQuerystring(one))
    .map((one: unknown) => {
      if (!isRecord(one)) return one;
      const { style, ...rest } = without(withContent(one), "allowReserved");
      return style === undefined || style === "cookie" ? rest : { ...rest, style };
    });
  return { ...owner, parameters: known };
}

function withContent(owner: JsonRecord): JsonRecord {
  const { content } = owner;
  if (!isRecord(content)) return owner;
  return { ...owner, content: mapMembers(content, asOldMediaType) };
}

const POSITIONAL = ["itemSchema", "prefixEncoding", "itemEncoding"] as const;

function asOldMediaType(mediaType: JsonRecord): JsonRecord {
  const { encoding } = mediaType;
  const asOld = (one: JsonRecord): JsonRecord => without(one, "encoding", ...POSITIONAL);
  const kept = isRecord(encoding) ? { encoding: mapMembers(encoding, asOld) } : {};
  return { ...without(mediaType, "description", ...POSITIONAL), ...kept };
}

function without(record: JsonRecord, ...names: readonly string[]): JsonRecord {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
}

function withList(
  owner: JsonRecord,
  name: string,
  write: (item: JsonRecord) => JsonRecord,
): JsonRecord {
  const list = owner[name];
  if (!Array.isArray(list)) return {};
  return { [name]: list.map((item: unknown) => (isRecord(item) ? write(item) : item)) };
}

function mapMembers(map: unknown, write: (member: JsonRecord) => JsonRecord): unknown {
  if (!isRecord(map)) return map;
  const members = Object.entries(map).map(([name, member]) => [
    name,
    isRecord(member) ? write(member) : member,
  ]);
  return Object.fromEntries(members);
}

function isQuerystring(parameter: unknown): boolean {
  return recordIn(parameter)["in"] === "querystring";
}

/** Returns a line for each violation of 3.2's rules on new fields, in a path item without references. */
export function breachesOf32(path: string, item: JsonRecord): readonly string[] {
  const more = recordIn(item["additionalOperations"]);
  const conflicting = Object.keys(more).filter(
    (name) => METHODS.has(name.toLowerCase()) || name.toLowerCase() === "query",
  );
  const operations = Object.entries({ ...item, ...more }).filter(
    ([name]) => METHODS.has(name) || name === "query" || Object.hasOwn(more, name),
  );
  return [
    ...conflicting.map(
      (name) =>
        `${path}: ${quoteValue(name)} has a field of its own, and is no additional operation`,
    ),
    ...operations.flatMap(([name, operation]) =>
      queryBreaches(`${name.toUpperCase()} ${path}`, [
        ...recordsIn(item["parameters"]),
        ...recordsIn(recordIn(operation)["parameters"]),
      ]),
    ),
  ];
}

/** OAS 3.2.0 §4.12.1 */
function queryBreaches(operation: string, parameters: readonly JsonRecord[]): readonly string[] {
  const whole = parameters.filter(isQuerystring);
  const names = new Set(whole.map(({ name }) => name));
  const isBeside = whole.length > 0 && parameters.some((one) => one["in"] === "query");
  return [
    ...(isBeside ? [`${operation}: a querystring parameter is beside query parameters`] : []),
    ...(names.size > 1 ? [`${operation}: there is more than one querystring parameter`] : []),
    ...(whole.some(({ content }) => !isRecord(content))
      ? [`${operation}: a querystring parameter must have content`]
      : []),
  ];
}
