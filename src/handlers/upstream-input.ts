/**
 * Checks rules that no schema can express on an input that becomes an HTTP request: URL values stay
 * in their segments, header values stay on their line, content is valid base64. A violation is
 * answered with 422.   AGTP-API §12.3
 */
import { escapeToken } from "../base/dotted-key.ts";
import { hasLoneSurrogate, isRecord, type JsonRecord, memberOf } from "../base/json-value.ts";
import type { ExternalServiceBinding } from "../endpoint/endpoint.ts";
import { checkHeader, PLAIN_ENCODING, type UpstreamEncoding } from "../endpoint/upstream-format.ts";
import type { SchemaViolation } from "../schema/schema.ts";
import { bodyFormatOf, fieldsElsewhere, headerText } from "./upstream-request.ts";
import { checkUrlInput, type UpstreamUrl } from "./upstream-url.ts";

/** Checks an input; undefined if there is no violation. */
export type UpstreamCheck = (input: JsonRecord) => readonly SchemaViolation[] | undefined;

/** Compiles the check; `declared` are the fields of the input. */
export function compileUpstreamCheck(
  binding: ExternalServiceBinding,
  url: UpstreamUrl,
  declared: readonly string[],
): UpstreamCheck {
  const { encoding = PLAIN_ENCODING } = binding;
  const fixedNames = fixedNamesOf(binding, url, declared);
  const facts = { ...binding, url, encoding, isJson: bodyFormatOf(binding) === "json" };
  return (input) => {
    const violations = [
      ...(checkUrlInput(url, input) ?? []),
      ...checkHeaderFields(encoding, input),
      ...checkTexts(facts, input),
      ...checkContent(encoding, input),
      ...checkNames(encoding, input),
      ...checkMembers(encoding, fixedNames, input),
    ];
    return violations.length === 0 ? undefined : violations;
  };
}

/**
 * The names of query and form parameters that are already taken. Declared fields count if they are
 * sent beside the members of an object.
 */
function fixedNamesOf(
  binding: ExternalServiceBinding,
  url: UpstreamUrl,
  declared: readonly string[],
): ReadonlySet<string> {
  const { query, inputTransform, encoding = PLAIN_ENCODING } = binding;
  const [, written = ""] = binding.url.split("?", 2);
  const elsewhere = fieldsElsewhere(binding, url);
  const format = bodyFormatOf(binding);
  const isBeside = format === undefined || format === "form" || encoding.bodyField !== undefined;
  const beside = declared.filter(
    (field) => isBeside && !elsewhere.has(field) && encoding.styles[field] !== "explode",
  );
  const names = beside.map((field) => memberOf(inputTransform, field) ?? field);
  return new Set([...Object.values(query), ...new URLSearchParams(written).keys(), ...names]);
}

/** Checks that no member that is sent as a parameter of its own has another parameter's name. */
function checkMembers(
  { styles }: UpstreamEncoding,
  fixedNames: ReadonlySet<string>,
  input: JsonRecord,
): SchemaViolation[] {
  return Object.entries(styles).flatMap(([field, style]) => {
    const value = memberOf(input, field);
    if (style !== "explode" || !isRecord(value)) return [];
    const taken = Object.keys(value).filter((name) => fixedNames.has(name));
    const message = "must not have the name of another parameter";
    return taken.map((name) => ({
      ...{ path: `${pointerTo(field)}${pointerTo(name)}`, keyword: "propertyNames", message },
    }));
  });
}

function checkHeaderFields(
  { headerFields, styles }: UpstreamEncoding,
  input: JsonRecord,
): SchemaViolation[] {
  return Object.entries(headerFields).flatMap(([field, name]) => {
    const value = memberOf(input, field);
    if (value === undefined || value === null) return [];
    const text = headerText(value, styles[field]);
    // Whitespace around a value is not part of it, so it would be lost.   RFC 9110 §5.5
    if (checkHeader(name, text) === undefined && !/^[ \t]|[ \t]$/.test(text)) return [];
    const message = "must be text of one line that a header can carry";
    return [{ path: pointerTo(field), keyword: "format", message }];
  });
}

/** The parts of a request that contain text. */
interface RequestFacts extends Pick<ExternalServiceBinding, "query"> {
  readonly url: UpstreamUrl;
  readonly encoding: UpstreamEncoding;
  /** True for a JSON body, which can carry any text. */
  readonly isJson: boolean;
}

/** Checks text that is sent as UTF-8: half a surrogate pair would be replaced by another character. */
function checkTexts(
  { url, query, isJson, encoding }: RequestFacts,
  input: JsonRecord,
): SchemaViolation[] {
  const { bodyField, headerFields } = encoding;
  const isInBody = (field: string): boolean =>
    isJson && (bodyField === undefined ? !Object.hasOwn(query, field) : field === bodyField);
  return Object.entries(input).flatMap(([field, value]) => {
    // Path and header fields have checks of their own.
    const isChecked = url.parameters.includes(field) || Object.hasOwn(headerFields, field);
    if (isChecked || isInBody(field) || !hasBrokenText(value)) return [];
    const message = "must be well-formed text";
    return [{ path: pointerTo(field), keyword: "format", message }];
  });
}

function hasBrokenText(value: unknown): boolean {
  if (typeof value === "string") return hasLoneSurrogate(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some((pair) => pair.some(hasBrokenText));
}

/** Checks base64: invalid text would be decoded to other octets and sent. */
function checkContent(
  { bodyFormat, bodyField }: UpstreamEncoding,
  input: JsonRecord,
): SchemaViolation[] {
  const pointer = bodyField === undefined ? "" : pointerTo(bodyField);
  const value = bodyField === undefined ? input : memberOf(input, bodyField);
  if (bodyFormat === "multipart") return isRecord(value) ? checkParts(value, pointer) : [];
  const fits = bodyFormat !== "binary" || value === undefined || isBase64(value);
  return fits ? [] : [notBase64(pointer)];
}

/** Checks the files among the parts and lists of parts. */
function checkParts(parts: JsonRecord, pointer: string): SchemaViolation[] {
  return Object.entries(parts).flatMap(([name, value]) => {
    const here = `${pointer}${pointerTo(name)}`;
    const items: readonly (readonly [string, unknown])[] = Array.isArray(value)
      ? value.map((item, index) => [`${here}/${index}`, item])
      : [[here, value]];
    return items.flatMap(([path, item]) =>
      isRecord(item) && typeof item["base64"] === "string" && !isBase64(item["base64"])
        ? [notBase64(`${path}/base64`)]
        : [],
    );
  });
}

/** The limit in characters; writing as many takes some tens of milliseconds. */
const MAX_NAMES_LENGTH = 1_048_576;

/**
 * Checks the total length of the names that a value is written with: in a form, in parts and in
 * brackets each item repeats the names above it, so that a body of 400 KB could become gigabytes.
 */
function checkNames(
  { bodyFormat, styles }: UpstreamEncoding,
  input: JsonRecord,
): SchemaViolation[] {
  const repeatsNames =
    bodyFormat === "form" ||
    bodyFormat === "multipart" ||
    Object.values(styles).some((style) => style === "deep");
  if (!repeatsNames) return [];
  const message = `has names that take more than ${MAX_NAMES_LENGTH} characters, once for each value below them`;
  return Object.entries(input)
    .filter(([, value]) => namesLength(value, 0) > MAX_NAMES_LENGTH)
    .map(([field]) => ({ path: pointerTo(field), keyword: "maxLength", message }));
}

/** The total length of the names of all scalars; `above` is the length of the names above the value. */
function namesLength(value: unknown, above: number): number {
  if (typeof value !== "object" || value === null) return above;
  return Object.entries(value).reduce(
    (sum, [name, member]) => sum + namesLength(member, above + name.length),
    0,
  );
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

function isBase64(value: unknown): boolean {
  if (typeof value !== "string" || !BASE64.test(value)) return false;
  // A single character encodes less than one octet.
  return value.replace(/=+$/, "").length % 4 !== 1;
}

function notBase64(path: string): SchemaViolation {
  return { path, keyword: "contentEncoding", message: "must be base64" };
}

function pointerTo(field: string): string {
  return `/${escapeToken(field)}`;
}
