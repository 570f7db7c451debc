/**
 * Loads the endpoints of a deployment: reads the files, compiles the schemas, and refuses taken
 * pairs. A file with an error is not served; the operator decides if the others are.   AGTP-API §13.2
 */
import { readingFiles } from "../base/deployment-files.ts";
import { atOnce, type Paced } from "../base/paced.ts";
import { isError, type Problem } from "../base/problem.ts";
import { SpreadMap } from "../base/spread-map.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import type { CompiledSchema, SchemaCompiler } from "../schema/schema.ts";
import { checkServedSchemas } from "./check-schemas.ts";
import type { EndpointDefinition } from "./endpoint.ts";
import { type EndpointFileContext, parseEndpointFile } from "./endpoint-file.ts";
import { creatingRegistry } from "./endpoint-registry.ts";
import { type InputShape, inputShape } from "./input-shape.ts";

/** The directory to load, and the context to check its files against. */
interface EndpointsSource extends EndpointFileContext {
  /** The endpoints directory, absolute or relative to the deployment directory. */
  readonly endpointsDir: string;
  readonly compiler: SchemaCompiler;
  /** `policies.output_validation`; "open" by default. */
  readonly outputValidation?: "open" | "strict";
}

/** An endpoint that is ready to be bound to its handler. */
export interface LoadedEndpoint {
  readonly definition: EndpointDefinition;
  readonly input: CompiledSchema;
  readonly output: CompiledSchema;
  readonly shape: InputShape;
}

/** The handler of a file that is not served; its problems are still reported. */
export type UnservedHandler = Pick<EndpointDefinition, "file" | "handler">;

/** The endpoints that can be served, in file order, with the problems. */
export interface LoadedEndpoints {
  readonly endpoints: readonly LoadedEndpoint[];
  readonly unserved: readonly UnservedHandler[];
  readonly problems: readonly Problem[];
}

/** Keywords that may declare members outside `properties`. */
const COMBINING = ["$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"];

/** Loads the endpoints directory, which may be absent if it is the default one. */
export function loadEndpoints(source: EndpointsSource): LoadedEndpoints {
  return atOnce(loadingEndpoints(source));
}

/** Loads endpoints, one file a step. */
export function* loadingEndpoints(source: EndpointsSource): Paced<LoadedEndpoints> {
  const { files, problems: unreadable } = yield* readingFiles({
    directory: source.directory,
    dir: source.endpointsDir,
    defaultDir: "endpoints",
    absence: "the directory does not exist, so there are no endpoints",
    suffix: ".toml",
    recursive: true,
  });
  const problems: Problem[] = [...unreadable];
  const loaded: LoadedEndpoint[] = [];
  const unserved: UnservedHandler[] = [];
  const share = createPartPool();
  for (const { file, text } of files) {
    yield;
    const { definition, parts = {}, ...read } = parseEndpointFile(text, file, source);
    problems.push(...read.problems);
    const { handler } = definition ?? parts;
    const shared = definition && shareParts(definition, share);
    const { keyInFile = String } = read;
    const ofSchemas: Problem[] = [];
    const compiled = compileSchemas({ ...(shared ?? parts), file }, source, ofSchemas);
    problems.push(...ofSchemas.map((one) => ({ ...one, key: keyInFile(one.key) })));
    if (shared !== undefined && compiled !== undefined) {
      const shape = inputShape(shared.inputSchema, true);
      loaded.push({ definition: shared, ...compiled, shape });
    } else if (handler !== undefined) unserved.push({ file, handler });
  }
  const endpoints = yield* droppingConflicts(loaded, problems);
  return { endpoints, unserved, problems };
}

/** Compiles the schemas; undefined if one is missing or invalid, or no output can be valid. */
function compileSchemas(
  { file, inputSchema, outputSchema }: Partial<EndpointDefinition> & { readonly file: string },
  { compiler, outputValidation }: EndpointsSource,
  problems: Problem[],
): Pick<LoadedEndpoint, "input" | "output"> | undefined {
  const compile = (name: string, schema: JsonSchema): CompiledSchema | undefined => {
    const found = compiler.compile(schema, { file, key: `endpoint.${name}` });
    problems.push(...found.problems);
    return found.compiled;
  };
  const input = inputSchema && compile("input_schema", inputSchema);
  const enforced =
    outputSchema && outputValidation === "strict" ? closeSchema(outputSchema) : outputSchema;
  const output = enforced && compile("output_schema", enforced);
  if (input === undefined || output === undefined) return undefined;
  const found = checkServedSchemas({ file, input: input.schema, output: output.schema });
  problems.push(...found);
  return found.some(isError) ? undefined : { input, output };
}

/**
 * Closes an output schema, so that undeclared members are refused whatever the schema says.
 * AGTP-API §13.3
 */
function closeSchema(schema: JsonSchema): JsonSchema {
  const { additionalProperties, ...rest } = schema;
  const kept = additionalProperties === true ? rest : schema;
  const isPlain = COMBINING.every((keyword) => !Object.hasOwn(schema, keyword));
  if (!isPlain) return { ...kept, unevaluatedProperties: false };
  return { additionalProperties: false, ...kept };
}

function* droppingConflicts(
  loaded: readonly LoadedEndpoint[],
  problems: Problem[],
): Paced<readonly LoadedEndpoint[]> {
  const entries = loaded.map((endpoint) => {
    const { method, path } = endpoint.definition;
    return { method, path, endpoint };
  });
  const { registry, conflicts } = yield* creatingRegistry(entries);
  for (const { entry, other, message } of conflicts) {
    const { file } = entry.endpoint.definition;
    const hint = `the other one is in ${other.endpoint.definition.file}`;
    problems.push({ file, key: "endpoint.path", message, hint });
  }
  return dropTakenNames(registry.entries, problems);
}

/** Drops tools whose name is taken; the earlier one is served, as with pairs. */
function dropTakenNames(
  entries: readonly { readonly endpoint: LoadedEndpoint }[],
  problems: Problem[],
): readonly LoadedEndpoint[] {
  const files = new Map<string, string>();
  return entries.flatMap(({ endpoint }) => {
    const { tool, file } = endpoint.definition;
    if (tool === undefined) return endpoint;
    const other = files.get(tool);
    files.set(tool, other ?? file);
    if (other === undefined) return endpoint;
    const message = `another tool is called "${tool}"`;
    problems.push({ file, key: "endpoint.tool", message, hint: `the other one is in ${other}` });
    return [];
  });
}

/** Returns the first part with the same JSON. */
type SharePart = <T extends object>(part: T) => T;

/** Creates an empty pool of parts. */
function createPartPool(): SharePart {
  const known = new SpreadMap<object>();
  return <T extends object>(part: T): T => {
    const text = JSON.stringify(part);
    const shared = known.get(text) ?? part;
    known.set(text, shared);
    return shared as T;
  };
}

/** Replaces parts of a definition by equal parts of others, to save memory. */
function shareParts(definition: EndpointDefinition, share: SharePart): EndpointDefinition {
  const { semantic, inputSchema, outputSchema, errors, requiredScopes, handler } = definition;
  return {
    ...definition,
    semantic: share(semantic),
    inputSchema: share(inputSchema),
    outputSchema: share(outputSchema),
    errors: share(errors),
    requiredScopes: share(requiredScopes),
    handler: share(handler),
  };
}
