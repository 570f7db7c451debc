/**
 * Maps the parameters of an operation to fields of an endpoint's input, with their places upstream:
 * the URL, the query or a header. Parameters that no external service can send are
 * noted.   AGTP-API §5.3, §12.3
 */
import { given, type JsonRecord, quoteValue, recordIn } from "../base/json-value.ts";
import { checkHeader, type ValueStyle } from "../endpoint/upstream-format.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { freeName, parameterName } from "./endpoint-path.ts";
import { expandSent, type ObjectShape, objectShape } from "./merge-all-of.ts";
import type { Operation, Parameter } from "./operations.ts";
import { contentsOf } from "./output.ts";
import type { SchemaReader } from "./schema-reader.ts";
import { firstSentence, type Notes, snake } from "./words.ts";

/** The targets of parameters, as input names to upstream names. */
export interface ParameterTargets {
  /** The replacement of each path parameter in the URL, in path order: its prefix and `{field}`. */
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
  /** Fields whose text is the whole query, without a name. */
  readonly queryFields: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly styles: Readonly<Record<string, ValueStyle>>;
}

interface ParameterContext {
  readonly reader: SchemaReader;
  readonly fields: FieldSet;
  readonly notes: Notes;
  /** The document's path parameters and their names in the endpoint. */
  readonly pathParameters: readonly (readonly [string, string])[];
  /** Headers, lower case, and query parameters that credentials occupy. */
  readonly fixedHeaders: ReadonlySet<string>;
  readonly fixedQuery: ReadonlySet<string>;
}

/** OpenAPI describes these headers elsewhere. */
const IGNORED_HEADERS: ReadonlySet<string> = new Set(["accept", "content-type", "authorization"]);

/** Adds the fields of every parameter to the input. */
export function addParameters(operation: Operation, context: ParameterContext): ParameterTargets {
  const targets: MutableTargets = { path: [], query: {}, queryFields: [], headers: {}, styles: {} };
  const declared = new Map(
    operation.parameters.filter(({ place }) => place === "path").map((one) => [one.name, one]),
  );
  for (const [name, field] of context.pathParameters) {
    const parameter = declared.get(name);
    const { schema, isComposite } = pathSchema(parameter, context);
    const added = context.fields.add(field, "path", { schema, isRequired: true });
    targets.path.push(`${pathPrefix(name, parameter?.raw["style"])}{${added}}`);
    if (isComposite) targets.styles[added] = "comma";
  }
  for (const parameter of operation.parameters) addParameter(parameter, context, targets);
  return targets;
}

interface MutableTargets extends ParameterTargets {
  readonly path: string[];
  readonly queryFields: string[];
  readonly query: Record<string, string>;
  readonly headers: Record<string, string>;
  readonly styles: Record<string, ValueStyle>;
}

function addParameter(
  parameter: Parameter,
  context: ParameterContext,
  targets: MutableTargets,
): void {
  switch (parameter.place) {
    case "path":
      return;
    case "query":
      addQuery(parameter, context, targets);
      return;
    case "querystring":
      addQuerystring(parameter, context, targets);
      return;
    case "header":
      addHeader(parameter, context, targets);
      return;
    case "cookie": {
      const is = parameter.isRequired ? "required" : "optional";
      context.notes.add(`the ${is} cookie ${quoteValue(parameter.name)} is not sent`);
    }
  }
}

/** Makes a schema fit a path segment, whose text can only become a scalar. */
function pathSchema(
  parameter: Parameter | undefined,
  context: ParameterContext,
): { readonly schema: JsonSchema; readonly isComposite: boolean } {
  if (parameter === undefined) return { schema: { type: "string" }, isComposite: false };
  const { name, raw } = parameter;
  const schema = schemaOf(parameter, context);
  const type = expandSent(schema, context.reader)["type"];
  const isComposite = ["array", "object"].some((name) => [type].flat().includes(name));
  if (!isComposite) return { schema, isComposite };
  context.notes.add(`the path parameter ${quoteValue(name)} is text, with commas between`);
  const isPrefixed = pathPrefix(name, raw["style"]) !== "";
  if (isPrefixed && raw["explode"] === true) {
    context.notes.add(`the path parameter ${quoteValue(name)} is written as if it did not explode`);
  }
  const text = { type: "string", description: "Values with commas between them." };
  return { schema: text, isComposite };
}

/** RFC 6570 §3.2.5, §3.2.7 */
function pathPrefix(name: string, style: unknown): string {
  if (style === "label") return ".";
  return style === "matrix"
    ? `;${encodeURIComponent(name.replace(/\p{Surrogate}/gu, "\ufffd"))}=`
    : "";
}

function addQuery(parameter: Parameter, context: ParameterContext, targets: MutableTargets): void {
  const { name, isRequired, raw } = parameter;
  if (context.fixedQuery.has(name)) return;
  const schema = schemaOf(parameter, context);
  const root = expandSent(schema, context.reader);
  const shape = objectShape(root);
  const isForm = raw["style"] === undefined || raw["style"] === "form";
  const isExploded = isForm && raw["explode"] !== false && raw["content"] === undefined;
  if (isExploded && shape !== undefined) {
    if (shape.isOpen) {
      context.notes.add(
        `members of ${quoteValue(name)} that the document does not name are refused`,
      );
    }
    addMembers({ shape, isRequired, encoding: {} }, context, targets);
    return;
  }
  const field = context.fields.add(parameterName(name), "query", { schema, isRequired });
  targets.query[field] = name;
  const isFree = isExploded && root["type"] === "object";
  const style = contentStyle(raw, root, context) ?? (isFree ? "explode" : styleOf(raw));
  if (style !== undefined) targets.styles[field] = style;
}

/** The style of a parameter whose value is JSON. */
function contentStyle(
  { content }: JsonRecord,
  root: JsonSchema,
  { reader }: ParameterContext,
): ValueStyle | undefined {
  const [only] = contentsOf(content, reader.document);
  const isSame = ["integer", "number", "boolean"].some((type) => root["type"] === type);
  return only?.kind === "json" && !isSame ? "json" : undefined;
}

interface ExplodedObject {
  readonly shape: ObjectShape;
  readonly isRequired: boolean;
  /** The encoding objects, by member. */
  readonly encoding: JsonRecord;
}

/** Adds each member of an exploded object as a parameter of its own. */
function addMembers(
  { shape, isRequired, encoding }: ExplodedObject,
  context: ParameterContext,
  targets: MutableTargets,
): void {
  for (const [member, value] of Object.entries(shape.properties)) {
    if (context.fixedQuery.has(member)) continue;
    const isNeeded = isRequired && shape.required.includes(member);
    const own = { schema: recordIn(value), isRequired: isNeeded };
    const field = context.fields.add(parameterName(member), "query", own);
    targets.query[field] = member;
    const style = Object.hasOwn(encoding, member) ? styleOf(recordIn(encoding[member])) : undefined;
    if (style !== undefined) targets.styles[field] = style;
  }
}

/**
 * Adds a parameter that is the whole query: of a form each member becomes a parameter, anything
 * else is text after the "?".   OAS 3.2.0 §4.12.1
 */
function addQuerystring(
  parameter: Parameter,
  context: ParameterContext,
  targets: MutableTargets,
): void {
  const { name, isRequired, raw } = parameter;
  const [content] = contentsOf(raw["content"], context.reader.document);
  if (content === undefined) return;
  if (content.kind === "form") {
    const shape = objectShape(expandSent(schemaOf(parameter, context), context.reader));
    if (shape === undefined) {
      context.notes.add(`the query string ${quoteValue(name)} names no parameters, it is not sent`);
      return;
    }
    addMembers(
      { shape, isRequired, encoding: recordIn(content.raw["encoding"]) },
      context,
      targets,
    );
    return;
  }
  if (!isRequired) {
    context.notes.add(`the query string ${quoteValue(name)} is optional there, and required here`);
  }
  const schema = {
    type: "string",
    ...given({ contentMediaType: content.mediaType.includes("*") ? undefined : content.mediaType }),
    ...descriptionOf(raw),
  };
  targets.queryFields.push(
    context.fields.add(parameterName(name), "query", { schema, isRequired: true }),
  );
}

/** The handler table's name of an OpenAPI style; undefined for a list that repeats its name. */
export function styleOf({
  style,
  explode,
}: Readonly<Record<string, unknown>>): ValueStyle | undefined {
  if (style === "deepObject") return "deep";
  if (style === "spaceDelimited") return explode === true ? undefined : "space";
  if (style === "pipeDelimited") return explode === true ? undefined : "pipe";
  return explode === false ? "comma" : undefined;
}

function addHeader(parameter: Parameter, context: ParameterContext, targets: MutableTargets): void {
  const { name, isRequired } = parameter;
  const lower = name.toLowerCase();
  if (IGNORED_HEADERS.has(lower) || context.fixedHeaders.has(lower)) return;
  const fault = checkHeader(name, "");
  if (fault !== undefined) {
    context.notes.add(`the header ${quoteValue(name)} is not sent, it ${fault}`);
    return;
  }
  const isTwice = Object.values(targets.headers).some((other) => other.toLowerCase() === lower);
  if (isTwice) return;
  const schema = schemaOf(parameter, context);
  const wanted = snake(name) || "header";
  const field = context.fields.add(wanted, "header", { schema, isRequired });
  targets.headers[field] = name;
  const { raw } = parameter;
  const root = expandSent(schema, context.reader);
  const isExploded = raw["explode"] === true && root["type"] === "object";
  const style = contentStyle(raw, root, context) ?? (isExploded ? "explode" : undefined);
  if (style !== undefined) targets.styles[field] = style;
}

function schemaOf({ raw }: Parameter, { reader }: ParameterContext): JsonSchema {
  const [content] = contentsOf(raw["content"], reader.document);
  const schema = reader.read(raw["schema"] ?? content?.raw["schema"]);
  return {
    ...schema,
    ...descriptionOf(raw),
    ...(raw["deprecated"] === true ? { deprecated: true } : {}),
  };
}

function descriptionOf({ description }: JsonRecord): JsonSchema {
  const text = typeof description === "string" ? firstSentence(description, 300) : "";
  return text === "" ? {} : { description: text };
}

interface Field {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
}

/** Input fields by name, in order of insertion. */
export class FieldSet {
  readonly #fields = new Map<string, Field>();
  #rules: JsonSchema = {};

  /** Adds a field; returns its name, prefixed with the place if the wanted one is taken. */
  add(wanted: string, place: string, field: Omit<Field, "name">): string {
    const taken = this.#fields;
    const name = taken.has(wanted) ? freeName(`${place}_${wanted}`, taken) : wanted;
    this.#fields.set(name, { ...field, name });
    return name;
  }

  /** Sets keywords about which fields belong together. */
  setRules(rules: JsonSchema): void {
    this.#rules = rules;
  }

  get names(): readonly string[] {
    return [...this.#fields.keys()];
  }

  /** The closed object schema of the fields. */
  toSchema(): JsonSchema {
    const fields = [...this.#fields.values()];
    const required = fields.filter(({ isRequired }) => isRequired).map(({ name }) => name);
    return {
      type: "object",
      ...(required.length === 0 ? {} : { required }),
      additionalProperties: false,
      properties: Object.fromEntries(fields.map(({ name, schema }) => [name, schema])),
      ...this.#rules,
    };
  }
}
