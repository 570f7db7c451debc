/**
 * External services: an existing HTTPS API behind an endpoint. One request to it a call, within the
 * endpoint's own deadline, aborted when the caller leaves; every way it can fail is one of the five
 * `upstream_*` errors or an error the operator mapped a status to.   AGTP-API §12.3
 */
import { Deadline } from "../base/deadline.ts";
import { escapeToken } from "../base/dotted-key.ts";
import { hasLoneSurrogate, isRecord, type JsonRecord, memberOf } from "../base/json-value.ts";
import { reasonOf } from "../base/thrown.ts";
import type { ExternalServiceBinding } from "../endpoint/endpoint.ts";
import { checkHeader, PLAIN_ENCODING, type UpstreamEncoding } from "../endpoint/upstream-format.ts";
import type { SchemaViolation } from "../schema/schema.ts";
import type { Call, Handler, HandlerError } from "./handler.ts";
import type { UpstreamPools } from "./upstream-pools.ts";
import {
  bodyFormatOf,
  compileUpstreamRequest,
  fieldsElsewhere,
  headerText,
} from "./upstream-request.ts";
import { compileUpstreamResponse, upstreamFailure } from "./upstream-response.ts";
import { checkUrlInput, type UpstreamUrl } from "./upstream-url.ts";

/** The handler, and the check its input has to pass first. */
interface ExternalService {
  readonly handler: Handler;
  /** Checks what a schema cannot say of values that become part of a request. */
  readonly precheck: (input: JsonRecord) => readonly SchemaViolation[] | undefined;
}

/** Binds an external service; its URL is the binding's, taken apart, `declared` the fields of its input. */
export function createExternalService(
  binding: ExternalServiceBinding,
  url: UpstreamUrl,
  pools: UpstreamPools,
  declared: readonly string[] = [],
): ExternalService {
  const pool = pools.pool({ origin: url.origin, ca: binding.ca });
  const buildRequest = compileUpstreamRequest(binding, url);
  const readResponse = compileUpstreamResponse(binding);
  const { timeoutMs } = binding;

  const handler: Handler = async (call) => {
    const request = buildRequest(call.input);
    const deadline = new Deadline({ signals: [call.signal], timeoutMs });
    let isSent = false;
    try {
      const response = await pool.request({
        ...request,
        signal: deadline.signal,
        onSent: () => {
          isSent = true;
        },
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      });
      return await readResponse(response);
    } catch (error) {
      const failure = upstreamFailure(error, { isAborted: deadline.signal.aborted, isSent });
      logFailure(call, failure, url.origin, error);
      return failure;
    } finally {
      deadline.clear();
    }
  };
  const fixedNames = fixedNamesOf(binding, url, declared);
  const isJson = bodyFormatOf(binding) === "json";
  const facts = { ...binding, url, fixedNames, isJson };
  const precheck = (input: JsonRecord) => checkUpstreamInput(facts, input);
  return { handler, precheck };
}

/** The operator gets what the caller does not: where the call went, and what the system said. */
function logFailure(call: Call, failure: HandlerError, origin: string, error: unknown): void {
  if (call.signal.aborted) return;
  const cause = reasonOf(error);
  call.log.warn({ upstream: origin, error: failure.error, cause }, "upstream call failed");
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * Checks what a schema cannot say of an input that becomes a request: values of the URL stay in
 * their segments, values of headers stay on their line, content is the base64 it says it is. A
 * violation is answered with 422.   AGTP-API §12.3
 */
function checkUpstreamInput(
  facts: RequestFacts,
  input: JsonRecord,
): readonly SchemaViolation[] | undefined {
  const { url, encoding: written = PLAIN_ENCODING, fixedNames } = facts;
  const violations = [
    ...(checkUrlInput(url, input) ?? []),
    ...checkHeaderFields(written, input),
    ...checkTexts(facts, input),
    ...checkContent(written, input),
    ...checkNames(written, input),
    ...checkMembers(written, fixedNames, input),
  ];
  return violations.length === 0 ? undefined : violations;
}

/** The parts of a request that its input has to fit into. */
interface RequestFacts extends Pick<ExternalServiceBinding, "query"> {
  readonly url: UpstreamUrl;
  /** The body is JSON, which has all texts. */
  readonly isJson: boolean;
  readonly encoding?: UpstreamEncoding;
  /** Parameters of the query, and of a form, that have a meaning already. */
  readonly fixedNames: ReadonlySet<string>;
}

/** Declared fields count where they are sent beside the members of an object. */
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

/** Checks that no member that is a parameter of its own has the name of another parameter. */
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
    // Blanks around a value are no part of it.   RFC 9110 §5.5
    if (checkHeader(name, text) === undefined && !/^[ \t]|[ \t]$/.test(text)) return [];
    const message = "must be text of one line that a header can carry";
    return [{ path: pointerTo(field), keyword: "format", message }];
  });
}

/** Checks what leaves as UTF-8: it has no half of a surrogate pair, and another character would stand there. */
function checkTexts(
  { url, query, isJson, encoding = PLAIN_ENCODING }: RequestFacts,
  input: JsonRecord,
): SchemaViolation[] {
  const { bodyField, headerFields } = encoding;
  const isInBody = (field: string): boolean =>
    isJson && (bodyField === undefined ? !Object.hasOwn(query, field) : field === bodyField);
  return Object.entries(input).flatMap(([field, value]) => {
    // Their own checks say so of these.
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

/** Checks base64, since other text would be decoded to something else and sent all the same. */
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

/** The files among the parts, or lists of parts. */
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

/** In characters; to write as many takes some tens of milliseconds. */
const MAX_NAMES_LENGTH = 1_048_576;

/**
 * Checks that the names in a value are not too long for what is written of it: in a form, in parts and in brackets
 * each item has the names above it again, so that a body of 400 KB could become gigabytes.
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

/** The length of the names that lead to each scalar, in all; `above` is that of those above the value. */
function namesLength(value: unknown, above: number): number {
  if (typeof value !== "object" || value === null) return above;
  return Object.entries(value).reduce(
    (sum, [name, member]) => sum + namesLength(member, above + name.length),
    0,
  );
}

function isBase64(value: unknown): boolean {
  if (typeof value !== "string" || !BASE64.test(value)) return false;
  // One character alone is less than an octet.
  return value.replace(/=+$/, "").length % 4 !== 1;
}

function notBase64(path: string): SchemaViolation {
  return { path, keyword: "contentEncoding", message: "must be base64" };
}

function pointerTo(field: string): string {
  return `/${escapeToken(field)}`;
}
