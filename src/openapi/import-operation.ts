/**
 * Converts one operation of a document to an endpoint: pair, semantic block, schemas, errors and
 * the external service behind it. The endpoint is a table as in an endpoint file, with a remark
 * after every value that needs a review.   AGTP-API §6.2, §12.3, §14.1
 */
import { given, type JsonRecord, quoteValue } from "../base/json-value.ts";
import { formatProblem, isError } from "../base/problem.ts";
import { UPSTREAM_ERRORS } from "../endpoint/endpoint.ts";
import { parseEndpointFile } from "../endpoint/endpoint-file.ts";
import { isScopeToken } from "../identity/authority-scope.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { OPERATOR_SCHEMA_BOUNDS } from "../schema/schema-bounds.ts";
import { checkSchema } from "../schema/schema-check.ts";
import { assembleSchema } from "./assemble-schema.ts";
import type { AssignedPair, PairRules } from "./assign-pairs.ts";
import { describeOperation, draftSemantic } from "./draft-semantic.ts";
import { type AgtpExtension, EXTENSION, readExtension } from "./extension.ts";
import { makeHandler, nameErrors } from "./handler-draft.ts";
import { heedExamples } from "./heed-examples.ts";
import { isReading } from "./http-form.ts";
import { addBody, type BodyTarget } from "./input-body.ts";
import { addParameters, FieldSet, type ParameterTargets } from "./input-parameters.ts";
import type { Operation } from "./operations.ts";
import { type Output, readOutput } from "./output.ts";
import type { SchemaReader } from "./schema-reader.ts";
import {
  type Credentials,
  readCredentials,
  type readSchemes,
  type Variable,
} from "./servers-and-security.ts";
import { firstSentence, kebab, Notes, onOneLine } from "./words.ts";
import { writeToml } from "./write-toml.ts";

/** The context that the operations of one document share. */
export interface ImportContext extends PairRules {
  readonly document: JsonRecord;
  readonly input: SchemaReader;
  readonly output: SchemaReader;
  readonly schemes: ReturnType<typeof readSchemes>;
  readonly version: string;
  /** Returns true if another operation undoes this one. */
  isUndone(operation: Operation): boolean;
}

/** A value that a person has to review. */
export interface Review {
  /** The dotted key in the endpoint file; "" for the endpoint as a whole. */
  readonly key: string;
  readonly message: string;
  /** True for a mark that most drafts have, whatever the document. */
  readonly isUsual?: true;
}

/** The draft of an endpoint file. */
export interface DraftedEndpoint {
  readonly operation: Operation;
  readonly method: string;
  readonly path: string;
  readonly namespace: string | undefined;
  /** The content of `[endpoint]`. */
  readonly table: JsonRecord;
  readonly reviews: readonly Review[];
  readonly variables: readonly Variable[];
  readonly baseUrl: string;
  /** The reason no external service can call the operation, whatever its file says. */
  readonly fault?: string;
}

/** Drafts the endpoint of an operation with its assigned pair. */
export function importOperation(
  operation: Operation,
  pair: AssignedPair,
  baseUrl: string,
  context: ImportContext,
): DraftedEndpoint {
  const { method } = pair;
  const { path } = pair.path;
  const notes = new Notes();
  const told = readExtension(operation.raw, notes);
  const { fields, output, ...ways } = readWays(operation, pair, context, notes);
  const { fault } = ways.body;
  noteCredentials(ways.credentials, told, notes);
  if (operation.raw["callbacks"] !== undefined) {
    notes.add("its callbacks are left out, they are calls of the API to you");
  }
  const { errors, map } = nameErrors(operation);
  const draft = draftSemantic({
    ...{ operation, method, path, catalog: context.catalog },
    ...{ answer: output.description, isUndone: context.isUndone(operation) },
  });
  const namespace = told.semantic === undefined ? namespaceOf(operation, told) : told.namespace;
  const outputSchema = assemble(output.schema, context.output, notes, "output");
  const table = {
    ...{ method, path, description: told.description ?? descriptionOf(operation, context) },
    ...(namespace === undefined ? {} : { namespace }),
    ...requiredScopes(operation, told, namespace),
    errors: told.errors === undefined ? errors : [...new Set([...told.errors, ...UPSTREAM_ERRORS])],
    semantic: told.semantic ?? draft.semantic,
    input_schema: assembleInput(fields, context.input, notes),
    output_schema: heedExamples(outputSchema, output.examples, notes),
    ...deprecation(operation, told, context.version),
    handler: makeHandler({
      ...{ operation, baseUrl, output, ...ways },
      errorMap: told.errors === undefined ? map : {},
    }),
  };
  const doubts = told.semantic === undefined ? [...draft.doubts] : [];
  return {
    ...{ operation, method, path, namespace, table, baseUrl },
    ...given({ fault }),
    reviews: [
      ...pairReviews(pair),
      ...doubts.map(([member, message]) => ({ key: `endpoint.semantic.${member}`, message })),
      ...notes.messages.map((message) => ({ key: "", message })),
    ],
    variables: ways.credentials.variables.map((one) => ({ ...one, sentTo: [baseUrl] })),
  };
}

/** The mapping of an operation's request and response to an external service. */
interface Ways {
  readonly fields: FieldSet;
  readonly credentials: Credentials;
  readonly parameters: ParameterTargets;
  readonly body: BodyTarget;
  readonly output: Output;
}

function readWays(
  operation: Operation,
  pair: AssignedPair,
  { schemes, input: reader, output: outputReader }: ImportContext,
  notes: Notes,
): Ways {
  const credentials = readCredentials(operation.security, schemes);
  const { headers, query } = credentials;
  const fields = new FieldSet();
  const parameters = addParameters(operation, {
    ...{ reader, fields, notes, pathParameters: pair.path.parameters },
    fixedHeaders: new Set(Object.keys(headers).map((name) => name.toLowerCase())),
    fixedQuery: new Set(query.map((part) => decodeURIComponent(part.split("=", 1)[0] ?? ""))),
  });
  const body = addBody(operation, { reader, fields, notes });
  const output = readOutput(operation, outputReader, notes);
  return { fields, credentials, parameters, body, output };
}

/** The document's own scopes, else one to read or to write in this namespace, or in the API. */
function requiredScopes(
  { raw, httpMethod }: Operation,
  told: AgtpExtension,
  namespace: string | undefined,
): JsonRecord {
  if (told.scopes !== undefined) return { required_scopes: told.scopes };
  // No scopes beside a reviewed semantic block means that none are required; unreadable scopes do not.
  if (told.semantic !== undefined && raw[EXTENSION.scopes] === undefined) return {};
  const action = isReading(httpMethod) ? "read" : "write";
  const scopes = [`${namespace ?? "api"}:${action}`, `api:${action}`];
  return { required_scopes: scopes.filter(isScopeToken).slice(0, 1) };
}

function noteCredentials(credentials: Credentials, told: AgtpExtension, notes: Notes) {
  const { unsupported, deprecated, scopes } = credentials;
  for (const name of deprecated) {
    notes.add(`the security scheme ${quoteValue(name)} is deprecated, and there is no other one`);
  }
  for (const name of unsupported) {
    notes.add(`the security scheme ${JSON.stringify(name)} cannot be followed, nothing is sent`);
  }
  if (scopes.length === 0 || told.scopes !== undefined) return;
  notes.add(`the document asks for ${scopes.join(", ")}: they may be better required_scopes`);
}

function pairReviews(pair: AssignedPair): readonly Review[] {
  const { methodDoubt, pathDoubt, methodOrigin } = pair;
  const method = methodDoubt ?? methodOrigin;
  const usual = methodDoubt === undefined ? ({ isUsual: true } as const) : {};
  return [
    ...(method === undefined ? [] : [{ key: "endpoint.method", message: method, ...usual }]),
    ...(pathDoubt === undefined ? [] : [{ key: "endpoint.path", message: pathDoubt }]),
  ];
}

function assembleInput(fields: FieldSet, reader: SchemaReader, notes: Notes): JsonSchema {
  const closed = fields.toSchema();
  const schema = assemble(closed, reader, notes, "input");
  if (schema["properties"] !== undefined) return schema;
  // A schema that cannot be described still keeps its fields.
  return { ...closed, properties: Object.fromEntries(fields.names.map((name) => [name, {}])) };
}

function assemble(
  schema: JsonSchema,
  reader: SchemaReader,
  notes: Notes,
  what: string,
): JsonSchema {
  const { schema: whole, isCut } = assembleSchema(schema, reader);
  if (isCut) notes.add(`the ${what} is described in part, all of it would be too large`);
  return whole;
}

/** The document's own namespace, else the first tag, else the first meaningful segment of the path. */
function namespaceOf({ tags, path }: Operation, told: AgtpExtension): string | undefined {
  if (told.namespace !== undefined) return told.namespace;
  const segments = path.split("/").filter((segment) => !/^(?:v\d[\w.]*|api|\{.*|)$/i.test(segment));
  return kebab(tags[0] ?? "") || kebab(segments[0] ?? "") || undefined;
}

function descriptionOf(operation: Operation, { catalog }: PairRules): string {
  const { description } = operation.raw;
  const text = typeof description === "string" ? firstSentence(description, 300) : "";
  return text || describeOperation(operation, catalog).text;
}

function deprecation({ raw }: Operation, told: AgtpExtension, version: string): JsonRecord {
  if (told.deprecated !== undefined) return { deprecated: told.deprecated };
  return raw["deprecated"] === true ? { deprecated: { deprecated_in: version } } : {};
}

/** Precedes everything that a person has to review; `agtpd doctor` looks for it. */
const REVIEW_MARK = "REVIEW:";

/** The text of an endpoint file. */
export function endpointText(endpoint: DraftedEndpoint, source: string): string {
  const { operation, table, reviews } = endpoint;
  const { httpMethod, path, id } = operation;
  const name = id === undefined ? "" : ` (${onOneLine(id)})`;
  const title = `${httpMethod} ${onOneLine(path)}${name} of ${onOneLine(source)}.`;
  return reviewedText(title, table, reviews);
}

/** The text of an `[endpoint]` file, with remarks for the reviewer after their keys, or at the top. */
export function reviewedText(title: string, table: JsonRecord, reviews: readonly Review[]): string {
  const marked = reviews.map(
    ({ key, message }) => [key, `${REVIEW_MARK} ${onOneLine(message)}`] as const,
  );
  const header = [
    `# ${title}`,
    ...(reviews.length === 0
      ? []
      : ["# Judge what is marked REVIEW, and take the mark away when it is right."]),
    ...marked.filter(([key]) => key === "").map(([, remark]) => `# ${remark}`),
  ];
  const remarks = new Map(marked.filter(([key]) => key !== ""));
  return `${header.join("\n")}\n\n${writeToml({ endpoint: table }, remarks)}`;
}

/** A larger file is refused at load. */
const MAX_BYTES = 1_048_576;

/**
 * Reads the file back as the daemon will, before anything is written; returns the reason it would
 * not be served, or undefined.   AGTP-API §13.2
 */
export function findEndpointFault(
  text: string,
  { variables }: Pick<DraftedEndpoint, "variables">,
  { catalog, names }: PairRules,
): string | undefined {
  if (Buffer.byteLength(text) > MAX_BYTES) return "it is too large for an endpoint file";
  const env = Object.fromEntries(variables.map(({ name }) => [name, "secret"]));
  const vocabulary = { catalog, names, customMethods: new Set<string>() };
  const context = { ...vocabulary, directory: "/", env };
  const { definition, problems } = parseEndpointFile(text, "the endpoint", context);
  const problem = problems.find(isError);
  if (problem !== undefined) return formatProblem(problem);
  if (definition === undefined) return "it is no endpoint";
  for (const schema of [definition.inputSchema, definition.outputSchema]) {
    const [fault] = checkSchema(schema, OPERATOR_SCHEMA_BOUNDS);
    if (fault !== undefined) return `its schema at ${fault.key || "the root"} ${fault.message}`;
  }
  return undefined;
}
