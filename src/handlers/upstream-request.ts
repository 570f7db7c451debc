/**
 * The HTTP request to an external service: the URL filled from the input, mapped fields in the
 * query and in headers, and the rest in the query or in the body. It contains nothing of the
 * caller's identity.   AGTP-API §12.3
 */
import { randomUUID } from "node:crypto";
import { isRecord, type JsonRecord, memberOf } from "../base/json-value.ts";
import type { ExternalServiceBinding, UpstreamMethod } from "../endpoint/endpoint.ts";
import {
  BODY_METHODS,
  type BodyFormat,
  PLAIN_ENCODING,
  type ResponseFormat,
  type ValueStyle,
} from "../endpoint/upstream-format.ts";
import { fillUrl, type UpstreamUrl } from "./upstream-url.ts";

/** A request in undici's form. */
interface UpstreamRequest {
  readonly method: UpstreamMethod;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
}

/** Compiles a binding into a function from an input to a request. */
export function compileUpstreamRequest(
  binding: ExternalServiceBinding,
  url: UpstreamUrl,
): (input: JsonRecord) => UpstreamRequest {
  const { method, encoding = PLAIN_ENCODING } = binding;
  const { bodyField } = encoding;
  const format = bodyFormatOf(binding);
  const mapped = Object.entries(binding.query);
  const used = fieldsElsewhere(binding, url);
  const names = new Map(Object.entries(binding.inputTransform));
  const styles = new Map(Object.entries(encoding.styles));
  const upstreamStyles = renameStyles(styles, names);
  const buildHeaders = compileHeaders(binding);

  return (input) => {
    const unused = Object.entries(input).filter(([name]) => !used.has(name));
    const rest = renameKeys(Object.fromEntries(unused), names);
    const query: string[] = [];
    for (const [field, parameter] of mapped) {
      if (Object.hasOwn(input, field)) {
        appendValue(query, parameter, input[field], styles.get(field));
      }
    }
    let body: UpstreamBody = { content: null };
    if (bodyField !== undefined && format !== undefined) {
      const value = memberOf(input, bodyField);
      body = encodeValue(value, format, upstreamStyles);
    } else if (format !== undefined) body = encodeFields(rest, format, upstreamStyles);
    // With a body of one field, or with none, the other fields go in the query.
    if (bodyField !== undefined || format === undefined) {
      for (const [name, value] of Object.entries(rest)) {
        appendValue(query, name, value, upstreamStyles.get(name));
      }
    }
    const path = joinQuery(fillUrl(url, input, encoding.styles), query);
    return { method, path, headers: buildHeaders(input, body.contentType), body: body.content };
  };
}

/** The fields with a place of their own; the others share the query or the body. */
export function fieldsElsewhere(
  { query, encoding = PLAIN_ENCODING }: Pick<ExternalServiceBinding, "query" | "encoding">,
  { parameters }: Pick<UpstreamUrl, "parameters">,
): ReadonlySet<string> {
  const { bodyField, headerFields } = encoding;
  const fields = [...parameters, ...Object.keys({ ...query, ...headerFields })];
  return new Set(bodyField === undefined ? fields : [...fields, bodyField]);
}

/** The form of the body; undefined if there is none. */
export function bodyFormatOf({
  method,
  encoding,
}: Pick<ExternalServiceBinding, "method" | "encoding">): SentFormat | undefined {
  const { bodyFormat = BODY_METHODS.has(method) ? "json" : "none" } = encoding ?? PLAIN_ENCODING;
  return bodyFormat === "none" ? undefined : bodyFormat;
}

type SentFormat = Exclude<BodyFormat, "none">;

function renameStyles(
  styles: ReadonlyMap<string, ValueStyle>,
  names: ReadonlyMap<string, string>,
): ReadonlyMap<string, ValueStyle> {
  return new Map(Array.from(styles, ([field, style]) => [names.get(field) ?? field, style]));
}

/** The Accept header by response format. */
const ACCEPTED: Readonly<Record<ResponseFormat, string>> = {
  json: "application/json",
  text: "*/*",
  binary: "*/*",
  json_lines: "application/jsonl, application/x-ndjson, application/json-seq",
  events: "text/event-stream",
};

/** Configured header fields replace the defaults, and are sent as written. */
function compileHeaders({
  headers,
  encoding = PLAIN_ENCODING,
}: ExternalServiceBinding): (input: JsonRecord, contentType?: string) => Record<string, string> {
  const own: Record<string, string> = {
    accept: ACCEPTED[encoding.responseFormat],
    "accept-encoding": "identity",
    "user-agent": "agtpd",
  };
  const fields = Object.entries(encoding.headerFields);
  const configured = new Set([...Object.keys(headers)].map((name) => name.toLowerCase()));
  return (input, contentType) => {
    const given = fields.flatMap(([field, name]): [string, string][] => {
      const value = memberOf(input, field);
      const style = encoding.styles[field];
      return value === undefined || value === null ? [] : [[name, headerText(value, style)]];
    });
    const replaced = new Set(given.map(([name]) => name.toLowerCase()));
    const defaults = Object.entries({
      ...own,
      ...(contentType === undefined ? {} : { "content-type": contentType }),
    }).filter(([name]) => !configured.has(name) && !replaced.has(name));
    return Object.fromEntries([...defaults, ...Object.entries(headers), ...given]);
  };
}

/** The text of a field in a header, where nothing is percent-encoded. */
export function headerText(value: unknown, style?: ValueStyle): string {
  if (style === "json") return JSON.stringify(value);
  if (typeof value !== "object" || value === null) return textOf(value);
  if (style !== "explode" || Array.isArray(value)) return partsOf(value).join(",");
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return members.map(([name, member]) => `${name}=${textOf(member)}`).join(",");
}

function joinQuery(path: string, query: readonly string[]): string {
  if (query.length === 0) return path;
  return `${path}${path.includes("?") ? "&" : "?"}${query.join("&")}`;
}

/** A body, and its default media type. */
interface UpstreamBody {
  readonly content: string | Uint8Array | null;
  readonly contentType?: string;
}

const NO_BODY: UpstreamBody = { content: null };
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/;
const OCTETS = "application/octet-stream";

/** Encodes a body of fields; `styles` are keyed by upstream names. */
function encodeFields(
  fields: JsonRecord,
  format: SentFormat,
  styles: ReadonlyMap<string, ValueStyle>,
): UpstreamBody {
  switch (format) {
    case "json":
      return encodeJson(fields);
    case "form":
      return encodeForm(fields, styles);
    case "multipart":
      return encodeParts(fields);
    case "text":
    case "binary":
      return NO_BODY;
  }
}

/** Encodes a body that is a single value; undefined if the input has none. */
function encodeValue(
  value: unknown,
  format: SentFormat,
  styles: ReadonlyMap<string, ValueStyle>,
): UpstreamBody {
  if (value === undefined) return NO_BODY;
  if (format === "binary") {
    return { content: Buffer.from(String(value), "base64"), contentType: OCTETS };
  }
  if (format === "text") return { content: textOf(value), contentType: "text/plain;charset=utf-8" };
  return format === "json" || !isRecord(value)
    ? encodeJson(value)
    : encodeFields(value, format, styles);
}

function encodeJson(value: unknown): UpstreamBody {
  return { content: JSON.stringify(value), contentType: "application/json" };
}

function encodeForm(fields: JsonRecord, styles: ReadonlyMap<string, ValueStyle>): UpstreamBody {
  const form: string[] = [];
  for (const [name, value] of Object.entries(fields)) {
    appendValue(form, name, value, styles.get(name));
  }
  const content = form.join("&").replaceAll("%20", "+");
  return { content, contentType: "application/x-www-form-urlencoded" };
}

/** RFC 7578. A value with a member `base64` is a file; a list becomes one part for each item. */
function encodeParts(fields: JsonRecord): UpstreamBody {
  // Why random: a caller cannot put a boundary in its values that is chosen later.
  const boundary = `agtpd-${randomUUID()}`;
  const chunks: Uint8Array[] = [];
  for (const [name, value] of Object.entries(fields)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item === undefined || item === null) continue;
      const { head, content } = partOf(name, item);
      chunks.push(Buffer.from(`--${boundary}\r\n${head}\r\n\r\n`), content, Buffer.from("\r\n"));
    }
  }
  chunks.push(Buffer.from(`--${boundary}--\r\n`));
  return {
    content: Buffer.concat(chunks),
    contentType: `multipart/form-data; boundary=${boundary}`,
  };
}

function partOf(
  name: string,
  value: unknown,
): { readonly head: string; readonly content: Uint8Array } {
  const disposition = `Content-Disposition: form-data; name="${quotable(name)}"`;
  if (!isRecord(value)) return { head: disposition, content: Buffer.from(textOf(value)) };
  const { base64, filename, media_type: mediaType } = value;
  if (typeof base64 !== "string") {
    const head = `${disposition}\r\nContent-Type: application/json`;
    return { head, content: Buffer.from(JSON.stringify(value)) };
  }
  const file = quotable(typeof filename === "string" ? filename : name);
  const type = typeof mediaType === "string" && MEDIA_TYPE.test(mediaType) ? mediaType : OCTETS;
  return {
    head: `${disposition}; filename="${file}"\r\nContent-Type: ${type}`,
    content: Buffer.from(base64, "base64"),
  };
}

/** Escapes a name as browsers do, so that it ends neither the quotes nor the line. */
function quotable(text: string): string {
  return text.replace(/["\r\n]/g, encodeURIComponent);
}

/** Separators stay literal between values; inside a value they are percent-encoded. */
const SEPARATORS: Readonly<Partial<Record<ValueStyle, string>>> = {
  comma: ",",
  space: "%20",
  pipe: "%7C",
};

/**
 * Appends a value of an input to the pairs of a query or form, percent-encoded; lists and objects
 * in the style that the upstream expects.   AGTP-API §12.3, RFC 6570 §3.2.8
 */
function appendValue(target: string[], name: string, value: unknown, style?: ValueStyle): void {
  if (value === undefined || value === null) return;
  if (style === "json") {
    appendPair(target, name, JSON.stringify(value));
    return;
  }
  if (typeof value !== "object") {
    appendPair(target, name, textOf(value));
    return;
  }
  const separator = style && SEPARATORS[style];
  if (style === "deep") appendDeep(target, name, value);
  else if (separator !== undefined) {
    const parts = partsOf(value);
    // An empty list is undefined and left out.   RFC 6570 §2.3
    if (parts.length === 0) return;
    target.push(`${encodeText(name)}=${parts.map(encodeText).join(separator)}`);
  } else if (Array.isArray(value)) {
    for (const item of value) if (item !== null) appendPair(target, name, textOf(item));
  } else if (style === "explode") {
    for (const [member, item] of Object.entries(value)) appendValue(target, member, item);
  } else appendPair(target, name, textOf(value));
}

function appendPair(target: string[], name: string, text: string): void {
  target.push(`${encodeText(name)}=${encodeText(text)}`);
}

/** Form encoding, but %20 for a space: some upstreams read a plus as a space, others as a plus. */
function encodeText(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()~]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function textOf(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The flattened items of a list or an object: `a`, `b`, or `key`, `value`, `key`, `value`. */
function partsOf(value: object): readonly string[] {
  if (Array.isArray(value)) return value.filter((part) => part !== null).map(textOf);
  return Object.entries(value).flatMap(([name, member]) =>
    member === null ? [] : [name, textOf(member)],
  );
}

/** Appends `name[key][0]=…`; an input is nested 64 levels at most. */
function appendDeep(target: string[], name: string, value: unknown): void {
  if (typeof value !== "object" || value === null) {
    if (value !== undefined && value !== null) appendPair(target, name, String(value));
    return;
  }
  for (const [key, member] of Object.entries(value)) appendDeep(target, `${name}[${key}]`, member);
}

/**
 * Returns a copy of an object with renamed top-level keys; a renamed value wins over one that
 * already had the name.   AGTP-API §12.3
 */
export function renameKeys(
  record: JsonRecord,
  names: ReadonlyMap<string, string>,
): Record<string, unknown> {
  const kept: [string, unknown][] = [];
  const renamed: [string, unknown][] = [];
  for (const [key, value] of Object.entries(record)) {
    const name = names.get(key);
    if (name === undefined) kept.push([key, value]);
    else renamed.push([name, value]);
  }
  // Why fromEntries: it defines properties, so "__proto__" is a key like any other.
  return Object.fromEntries([...kept, ...renamed]);
}
