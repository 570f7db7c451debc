/**
 * The requests that cases make of endpoints which only read: a valid one, and those that differ from
 * it in the one point that the case is about. Each is named after what it shows; where a server has
 * no endpoint that could show it, the name is missing.   AGTP-API §5.5, §13.2, §13.3
 */
import { isRecord } from "../../base/json-value.ts";
import { schemaSample } from "../../schema/schema-sample.ts";
import { bodyProperties, encodeText, type Trial } from "./trial.ts";

/** Values that cases refer to, by the need that they satisfy. */
export type Subject = Readonly<Record<string, unknown>>;

/** Not a member of anybody's schema. */
const UNDECLARED = "conformance_undeclared_member";
const WRONG_VALUES = [{ wrong: true }, [[]], -1e9, true, "\u0007"];
const MAX_QUERY_VALUE = 256;

/** A valid request, and the same with a member that nobody declared. */
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

/** A request with one value that its schema does not allow. */
export function typedSubject(trial: Trial): Subject | undefined {
  for (const [name] of bodyProperties(trial)) {
    const wrong = WRONG_VALUES.find((value) => !isAccepted(trial, { [name]: value }));
    if (wrong === undefined) continue;
    return { ...plainSubject(trial), wrong_input: { ...trial.input, [name]: wrong } };
  }
  return undefined;
}

/** A request without one member that its schema requires. */
export function requiredSubject(trial: Trial): Subject | undefined {
  const [name] = Object.keys(trial.input);
  if (name === undefined) return undefined;
  const { [name]: _, ...incomplete } = trial.input;
  if (trial.judge({ ...trial.inPath, ...incomplete }) === undefined) return undefined;
  return { ...plainSubject(trial), incomplete_input: incomplete };
}

/**
 * A request with one member in its query, percent-encoded so that it is valid only when decoded; and
 * with a wrong value there, which the body overrides.
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

/** As a text, or as the number or truth value that a server may read it as. */
function isAcceptedText(trial: Trial, name: string, text: string): boolean {
  const number = Number(text);
  const readings = [text, ...(Number.isFinite(number) ? [number] : [])];
  return readings.some((value) => isAccepted(trial, { [name]: value }));
}

function isScalar(value: unknown): boolean {
  return value !== "" && value !== null && value !== undefined && !isNested(value);
}

function isNested(value: unknown): boolean {
  return Array.isArray(value) || isRecord(value);
}

/** Every octet, though most need not be: a server that does not decode sees none of them. */
function encodeWhole(text: string): string {
  return [...Buffer.from(text)]
    .map((octet) => `%${octet.toString(16).toUpperCase().padStart(2, "0")}`)
    .join("");
}
