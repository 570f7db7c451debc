/**
 * Endpoints of the server under test that are safe to try: they declare to be read-only, a valid
 * input can be generated for them, and no operator has to approve their calls. That requests have
 * no effect is the server's own claim. Cases send a valid request, and ones that differ from it in
 * the tested point only.   AGTP-API §5.5, §6.2, §7.1, §13.2, §13.3
 */
import { isRecord, type JsonRecord, recordIn, textsIn } from "../../base/json-value.ts";
import { fillTemplate } from "../../base/template.ts";
import { isMethodName } from "../../catalog/catalog.ts";
import { templateParameters } from "../../catalog/path-grammar.ts";
import { covers } from "../../identity/authority-scope.ts";
import { schemaSample } from "../../schema/schema-sample.ts";
import { asText } from "./text-pattern.ts";
import { judgeOf, type ValueJudge } from "./value-kinds.ts";

/** A request that the server should understand, with its endpoint. */
export interface Trial {
  readonly method: string;
  readonly template: string;
  /** The path with values for its parameters. */
  readonly target: string;
  readonly input: JsonRecord;
  readonly inPath: JsonRecord;
  readonly endpoint: JsonRecord;
  readonly requiredScopes: readonly string[];
  readonly judge: ValueJudge;
}

const PATH = /^\/[\x21-\x7e]{0,2000}$/;

/** Generates a request for an endpoint of the manifest; undefined if it is not safe to try. */
export function trialOf(endpoint: unknown, tierOf: (pair: string) => unknown): Trial | undefined {
  if (!isRecord(endpoint)) return undefined;
  const { method, path, semantic, input_schema: schema } = endpoint;
  if (typeof method !== "string" || !isMethodName(method)) return undefined;
  if (typeof path !== "string" || !PATH.test(path)) return undefined;
  if (
    recordIn(semantic)["impact"] !== "informational" ||
    tierOf(`${method} ${path}`) === "A" ||
    method === "DISCOVER"
  ) {
    return undefined;
  }
  if (endpoint["approval"] !== undefined) return undefined;
  const judge = judgeOf(schema);
  const input = isRecord(schema) ? sampleInput(schema, path) : undefined;
  if (judge === undefined || input === undefined || judge(input) !== undefined) return undefined;
  const inPath = new Set(templateParameters(path));
  const entries = Object.entries(input);
  return {
    method,
    template: path,
    target: fillPath(path, input),
    input: Object.fromEntries(entries.filter(([name]) => !inPath.has(name))),
    inPath: Object.fromEntries(entries.filter(([name]) => inPath.has(name))),
    endpoint,
    requiredScopes: textsIn(endpoint["required_scopes"]),
    judge,
  };
}

/** Generates an input with the required members and those of the path. */
function sampleInput(schema: JsonRecord, path: string): JsonRecord | undefined {
  const { required } = schema;
  const names = [...(Array.isArray(required) ? required : []), ...templateParameters(path)];
  const sample = schemaSample({ ...schema, required: [...new Set(names)] });
  return isRecord(sample) ? sample : undefined;
}

/** Fills a path template with values. */
export function fillPath(template: string, input: JsonRecord): string {
  return fillTemplate(template, (name) =>
    Object.hasOwn(input, name) ? encodeText(asText(input[name])) : undefined,
  );
}

/** Percent-encodes a text; a lone surrogate becomes a replacement character. */
function encodeText(text: string): string {
  return encodeURIComponent(Buffer.from(text).toString());
}

/**
 * Returns true if an agent with these scopes may call it; if they are unknown, only an endpoint
 * without scopes qualifies.
 */
export function mayCall(trial: Trial, held: readonly string[] | undefined): boolean {
  return trial.requiredScopes.every((scope) => held !== undefined && covers(held, scope));
}

/** The properties that its body or query may have, with their schemas. */
function bodyProperties({ endpoint, inPath }: Trial): readonly (readonly [string, unknown])[] {
  const { input_schema: schema } = endpoint;
  const properties = recordIn(schema)["properties"];
  if (!isRecord(properties)) return [];
  return Object.entries(properties).filter(([name]) => !Object.hasOwn(inPath, name));
}

/** The values that cases refer to, by the need they meet. */
export type Subject = Readonly<Record<string, unknown>>;

/** A name that no schema declares. */
const UNDECLARED = "conformance_undeclared_member";
const WRONG_VALUES = [{ wrong: true }, [[]], -1e9, true, "\u0007"];
const MAX_QUERY_VALUE = 256;

/** A valid request, and the same with an undeclared member. */
export function plainSubject(trial: Trial): Subject {
  const { method, target, input, endpoint } = trial;
  const { output_schema, errors } = endpoint;
  return {
    method,
    target,
    input,
    surplus_input: { ...input, [UNDECLARED]: 1 },
    output_schema,
    errors: Array.isArray(errors) ? errors : [],
  };
}

/** A request with one value of a type that its schema forbids. */
export function typedSubject(trial: Trial): Subject | undefined {
  for (const [name] of bodyProperties(trial)) {
    const wrong = WRONG_VALUES.find((value) => !isAccepted(trial, { [name]: value }));
    if (wrong === undefined) continue;
    return { ...plainSubject(trial), wrong_input: { ...trial.input, [name]: wrong } };
  }
  return undefined;
}

/** A request that lacks one required member. */
export function requiredSubject(trial: Trial): Subject | undefined {
  const [name] = Object.keys(trial.input);
  if (name === undefined) return undefined;
  const { [name]: _, ...incomplete } = trial.input;
  if (trial.judge({ ...trial.inPath, ...incomplete }) === undefined) return undefined;
  return { ...plainSubject(trial), incomplete_input: incomplete };
}

/**
 * A request with one member in its query, percent-encoded so that it is only valid once decoded;
 * and a wrong value there that the body overrides.
 */
export function querySubject(trial: Trial): Subject | undefined {
  for (const [name, schema] of bodyProperties(trial)) {
    const value = trial.input[name] ?? schemaSample(schema);
    if (!isScalar(value) || !isAccepted(trial, { [name]: value })) continue;
    const encoded = encodeWhole(String(value));
    const wrong = ["conformance!", "-0.5"].find((text) => !isAcceptedText(trial, name, text));
    if (wrong === undefined || isAcceptedText(trial, name, encoded)) continue;
    if (encoded.length > MAX_QUERY_VALUE) continue;
    const { [name]: _, ...others } = trial.input;
    const query = encodeText(name);
    return {
      ...plainSubject(trial),
      encoded_target: `${trial.target}?${query}=${encoded}`,
      repeated_target: `${trial.target}?${query}=${encodeWhole(wrong)}&${query}=${encoded}`,
      wrong_target: `${trial.target}?${query}=${encodeWhole(wrong)}`,
      other_input: others,
      whole_input: { ...trial.input, [name]: value },
    };
  }
  return undefined;
}

function isAccepted({ judge, inPath, input }: Trial, changed: Subject): boolean {
  return judge({ ...inPath, ...input, ...changed }) === undefined;
}

/** Returns true if the schema accepts the text itself, or the number or boolean that it may be read as. */
function isAcceptedText(trial: Trial, name: string, text: string): boolean {
  const number = Number(text);
  const readings = [text, ...(Number.isFinite(number) ? [number] : [])];
  return readings.some((value) => isAccepted(trial, { [name]: value }));
}

function isScalar(value: unknown): boolean {
  return value !== "" && value !== null && value !== undefined && typeof value !== "object";
}

/** Percent-encodes every octet, so that a server that does not decode recognises none of them. */
function encodeWhole(text: string): string {
  return [...Buffer.from(text)]
    .map((octet) => `%${octet.toString(16).toUpperCase().padStart(2, "0")}`)
    .join("");
}
