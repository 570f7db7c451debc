/**
 * Reads an endpoint file. Checks every rule that needs neither handlers nor recipes, and returns
 * the definition or all problems. The schemas themselves are checked by the schema compiler.
 * AGTP-API §5, §6, §13.2
 */
import { type DocumentPlace, documentAt } from "../base/document-place.ts";
import type { Environment } from "../base/environment.ts";
import { given, quoteValue } from "../base/json-value.ts";
import { isError, type Problem } from "../base/problem.ts";
import { isTable, parseToml } from "../base/toml-document.ts";
import { checkTemplate, templateParameters } from "../catalog/path-grammar.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { OPERATOR_SCHEMA_BOUNDS } from "../schema/schema-bounds.ts";
import { checkSchema } from "../schema/schema-check.ts";
import type { EndpointDefinition, EndpointDeprecation } from "./endpoint.ts";
import { DEPRECATION_KEYS, ENDPOINT_KEYS, SEMANTIC_KEYS } from "./endpoint-file-schema.ts";
import { readSchemas } from "./endpoint-schemas.ts";
import { readHandler, readOlderHandlerKeys } from "./handler-table.ts";
import { declaredTypes, propertiesOf } from "./input-shape.ts";
import {
  checkReservation,
  readMethod,
  readRequiredScopes,
  type Vocabulary,
} from "./method-rule.ts";
import { readSemanticBlock } from "./semantic-block.ts";

/** The vocabulary and directory that an endpoint file is checked against. */
export interface EndpointFileContext extends Vocabulary {
  /** The deployment directory, as an absolute path. */
  readonly directory: string;
  /** The variables for `${VAR}` in a handler table. */
  readonly env: Environment;
}

/** The readable parts of a faulty file, whose other problems can still be reported. */
type EndpointParts = Partial<Pick<EndpointDefinition, "inputSchema" | "outputSchema" | "handler">>;

/** The definition, or the readable parts if a problem is an error. */
export interface EndpointFile {
  readonly definition?: EndpointDefinition;
  readonly parts?: EndpointParts;
  /** Returns the file's key for a key of one of the schemas. */
  readonly keyInFile?: (key: string) => string;
  readonly problems: readonly Problem[];
}

const KEYS = Object.keys(ENDPOINT_KEYS);
/** The types that the text of a path segment can be converted to. */
const TEXT_TYPES = ["string", "integer", "number", "boolean"] as const;
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;
const ERROR_NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,127}$/;

/** Reads the text of one endpoint file; problems name it `file`. */
export function parseEndpointFile(
  text: string,
  file: string,
  context: EndpointFileContext,
): EndpointFile {
  const { table, fault } = parseToml(text);
  if (fault !== undefined) return { problems: [{ file, key: "", message: fault }] };
  const older = readOlderHandlerKeys(table, file);
  const problems: Problem[] = [...older.problems];
  const root = documentAt(older.table, { file, key: "" }, problems).record(["endpoint"]);
  const endpoint = root?.at("endpoint").record(KEYS);
  if (endpoint === undefined) return { problems };
  const { definition, ...rest } = readEndpoint(endpoint, context);
  return definition === undefined || problems.some(isError)
    ? { ...rest, problems }
    : { ...rest, definition, problems };
}

function readEndpoint(
  endpoint: DocumentPlace,
  context: EndpointFileContext,
): Omit<EndpointFile, "problems"> {
  const method = readMethod(endpoint.at("method"), context);
  const path = readPath(endpoint, context);
  const description = endpoint.at("description").text();
  const namespace = endpoint.at("namespace").optional?.text();
  const tool = readToolName(endpoint.at("tool"));
  const semanticTable = endpoint.at("semantic").record(Object.keys(SEMANTIC_KEYS));
  const semantic = semanticTable && readSemanticBlock(semanticTable);
  const { inputSchema, outputSchema, isFieldList, keyInFile } = readSchemas(
    endpoint,
    templateParameters(path ?? "/"),
  );
  const errors = readErrors(endpoint, isFieldList);
  const requiredScopes = readRequiredScopes(endpoint);
  const approval = endpoint.at("approval").optional?.word(["operator"]);
  const deprecated = readDeprecation(endpoint, context);
  const handler = readHandler(endpoint, {
    directory: context.directory,
    environment: context.env,
    inputSchema: inputSchema ?? {},
    errors,
  });
  if (method !== undefined && path !== undefined) checkReserved(endpoint, method, path);
  if (path !== undefined && inputSchema !== undefined) checkParameters(endpoint, path, inputSchema);
  const read = { parts: given({ inputSchema, outputSchema, handler }), keyInFile };
  if (method === undefined || path === undefined || description === undefined) return read;
  if (semantic === undefined || handler === undefined) return read;
  if (inputSchema === undefined || outputSchema === undefined) return read;
  const definition: EndpointDefinition = {
    file: endpoint.file,
    method,
    path,
    description,
    ...given({ namespace, tool }),
    semantic,
    inputSchema,
    outputSchema,
    errors,
    requiredScopes,
    ...given({ approval, deprecated }),
    handler,
  };
  return { ...read, definition };
}

function readPath(endpoint: DocumentPlace, context: EndpointFileContext): string | undefined {
  const path = endpoint.at("path").text();
  if (path === undefined) return undefined;
  const fault = checkTemplate(path, context.names);
  if (fault !== undefined) return endpoint.at("path").fail(fault.message);
  for (const [, name] of path.matchAll(COLON_PARAMETER)) {
    endpoint
      .at("path")
      .warn(`segment ":${name}" is no parameter, and taken as it is`, `write {${name}}`);
  }
  return path;
}

/** The form of parameters in other frameworks. */
const COLON_PARAMETER = /(?<=\/):([A-Za-z0-9_]+)(?=\/|$)/g;

function readToolName(place: DocumentPlace): string | undefined {
  const name = place.optional?.text();
  if (name === undefined || TOOL_NAME.test(name)) return name;
  return place.fail(`${quoteValue(name)} is no tool name, ${EXPECTED_TOOL_NAME}`);
}

const EXPECTED_TOOL_NAME = 'expected at most 64 letters, digits, "_" and "-"';

function checkReserved(endpoint: DocumentPlace, method: string, path: string): void {
  // An operator's endpoint may replace the other floor methods on "/".
  const fault = checkReservation(method, path, ["DISCOVER"]);
  if (fault === undefined) return;
  const hint = method === "DISCOVER" ? "only policies.builtins overrides a built-in" : undefined;
  endpoint.at("path").fail(fault, hint);
}

/** Checks that every path parameter is an input field of a type that text can represent.   §5.3 */
function checkParameters(endpoint: DocumentPlace, path: string, inputSchema: JsonSchema): void {
  const properties = propertiesOf(inputSchema);
  for (const name of templateParameters(path)) {
    if (!Object.hasOwn(properties, name)) {
      const hint = `declare ${name} among the properties of the input`;
      endpoint
        .at("path")
        .fail(`parameter ${quoteValue(name)} is no field of the input schema`, hint);
      continue;
    }
    const types = declaredTypes(properties[name], inputSchema);
    if (TEXT_TYPES.some((type) => types.has(type))) continue;
    // An invalid type is reported when the schema is compiled.
    if (checkSchema(inputSchema, OPERATOR_SCHEMA_BOUNDS).length > 0) continue;
    endpoint.at("path").fail(`parameter ${quoteValue(name)} has a type that text cannot become`);
  }
}

/** Reads `errors = []`, or `[endpoint.errors] list = []`; only a file with field lists may omit both. */
function readErrors(endpoint: DocumentPlace, isFieldList: boolean): readonly string[] {
  if (!endpoint.has("errors")) {
    if (!isFieldList)
      endpoint.at("errors").fail("is missing, expected a list of names", "it may be []");
    return [];
  }
  const isBlock = isTable(endpoint.at("errors").value);
  const owner = isBlock ? endpoint.at("errors").record(["list"]) : endpoint;
  const name = isBlock ? "list" : "errors";
  const errors = owner?.at(name).texts() ?? [];
  for (const error of errors) {
    if (ERROR_NAME.test(error)) continue;
    const expected = 'expected letters, digits, "_", "-" and "."';
    owner?.at(name).fail(`${quoteValue(error)} is no error name, ${expected}`);
  }
  return errors;
}

type Successor = NonNullable<EndpointDeprecation["successor"]>;

/** Visible ASCII without the semicolon, which separates the parts of the header. */
const VERSION = /^[\x21-\x3a\x3c-\x7e]{1,64}$/;

/**
 * Reads `[endpoint.deprecated]`, which becomes a header of every response; undefined without it, or
 * with a problem.   AGTP-API §6.5
 */
function readDeprecation(
  endpoint: DocumentPlace,
  vocabulary: Vocabulary,
): EndpointDeprecation | undefined {
  const table = endpoint.at("deprecated").optional?.record(Object.keys(DEPRECATION_KEYS));
  if (table === undefined) return undefined;
  const deprecatedIn = readVersion(table.at("deprecated_in"));
  const removedAt = table.at("removed_in").optional;
  const removedIn = removedAt && readVersion(removedAt);
  const successor = readSuccessor(table, vocabulary);
  if (deprecatedIn === undefined) return undefined;
  return { deprecated_in: deprecatedIn, ...given({ removed_in: removedIn, successor }) };
}

function readVersion(place: DocumentPlace): string | undefined {
  const version = place.text();
  if (version === undefined || VERSION.test(version)) return version;
  return place.fail(`is ${JSON.stringify(version)}, expected a version such as "2.1.0"`);
}

function readSuccessor(table: DocumentPlace, vocabulary: Vocabulary): Successor | undefined {
  const successor = table.at("successor").optional?.record(["method", "path"]);
  if (successor === undefined) return undefined;
  const named = successor.at("method").optional;
  const method = named && readMethod(named, vocabulary);
  const path = successor.at("path").optional?.text();
  const pathFault = path === undefined ? undefined : checkTemplate(path, vocabulary.names);
  if (pathFault !== undefined) successor.at("path").fail(pathFault.message);
  if (successor.names.length === 0) table.at("successor").fail("is empty, expected method or path");
  return given({ method, path });
}
