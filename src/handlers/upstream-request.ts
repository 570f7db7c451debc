/**
 * The HTTP request an external service gets: the URL filled from the input, mapped fields in the
 * query and in headers, and the rest in the query or in the body. Of the caller's identity nothing
 * is in it.   AGTP-API §12.3
 */
import type { ExternalServiceBinding, UpstreamMethod } from "../endpoint/endpoint.ts";
import { PLAIN_ENCODING, type ValueStyle } from "../endpoint/upstream-format.ts";
import { renameKeys } from "./rename-keys.ts";
import { encodeFields, encodeValue, type UpstreamBody } from "./upstream-body.ts";
import { fillUrl, type UpstreamUrl } from "./upstream-url.ts";
import { appendValue, joinValues, textOf } from "./upstream-values.ts";

type Input = Readonly<Record<string, unknown>>;

/** One request, as undici takes it. */
export interface UpstreamRequest {
  readonly method: UpstreamMethod;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
}

const BODY_METHODS: ReadonlySet<UpstreamMethod> = new Set(["POST", "PUT", "PATCH"]);

/** Compiles a binding into what makes a request out of an input. */
export function compileUpstreamRequest(
  binding: ExternalServiceBinding,
  url: UpstreamUrl,
): (input: Input) => UpstreamRequest {
  const { method, encoding = PLAIN_ENCODING } = binding;
  const { bodyField, headerFields } = encoding;
  const format = encoding.bodyFormat ?? (BODY_METHODS.has(method) ? "json" : undefined);
  const mapped = Object.entries(binding.query);
  const used = new Set([...url.parameters, ...Object.keys({ ...binding.query, ...headerFields })]);
  if (bodyField !== undefined) used.add(bodyField);
  const names = new Map(Object.entries(binding.inputTransform));
  const styles = new Map(Object.entries(encoding.styles));
  const upstreamStyles = renameStyles(styles, names);
  const buildHeaders = compileHeaders(binding);

  return (input) => {
    const unused = Object.entries(input).filter(([name]) => !used.has(name));
    const rest = renameKeys(Object.fromEntries(unused), names);
    const query = new URLSearchParams();
    for (const [field, parameter] of mapped) {
      if (Object.hasOwn(input, field)) {
        appendValue(query, parameter, input[field], styles.get(field));
      }
    }
    let body: UpstreamBody = { content: null };
    if (bodyField !== undefined && format !== undefined) {
      const value = Object.hasOwn(input, bodyField) ? input[bodyField] : undefined;
      body = encodeValue(value, format, upstreamStyles);
    } else if (format !== undefined) body = encodeFields(rest, format, upstreamStyles);
    // Beside a body that is one field, and without a body, the query is all there is.
    if (bodyField !== undefined || format === undefined) {
      for (const [name, value] of Object.entries(rest)) {
        appendValue(query, name, value, upstreamStyles.get(name));
      }
    }
    const path = joinQuery(fillUrl(url, input), query);
    return { method, path, headers: buildHeaders(input, body.contentType), body: body.content };
  };
}

function renameStyles(
  styles: ReadonlyMap<string, ValueStyle>,
  names: ReadonlyMap<string, string>,
): ReadonlyMap<string, ValueStyle> {
  return new Map(Array.from(styles, ([field, style]) => [names.get(field) ?? field, style]));
}

/** Configured fields replace ours and are sent as they are written. */
function compileHeaders({
  headers,
  encoding = PLAIN_ENCODING,
}: ExternalServiceBinding): (input: Input, contentType?: string) => Record<string, string> {
  const own: Record<string, string> = {
    accept: encoding.responseFormat === "json" ? "application/json" : "*/*",
    "accept-encoding": "identity",
    "user-agent": "agtpd",
  };
  const fields = Object.entries(encoding.headerFields);
  const configured = new Set([...Object.keys(headers)].map((name) => name.toLowerCase()));
  return (input, contentType) => {
    const given = fields.flatMap(([field, name]): [string, string][] => {
      const value = Object.hasOwn(input, field) ? input[field] : undefined;
      return value === undefined || value === null ? [] : [[name, headerText(value)]];
    });
    const replaced = new Set(given.map(([name]) => name.toLowerCase()));
    const defaults = Object.entries({
      ...own,
      ...(contentType === undefined ? {} : { "content-type": contentType }),
    }).filter(([name]) => !configured.has(name) && !replaced.has(name));
    return Object.fromEntries([...defaults, ...Object.entries(headers), ...given]);
  };
}

/** The text of a field in a header. */
export function headerText(value: unknown): string {
  return typeof value === "object" && value !== null ? joinValues(value, ",") : textOf(value);
}

function joinQuery(path: string, query: URLSearchParams): string {
  if (query.size === 0) return path;
  // A plus is a space to some upstreams and a plus to others; %20 is a space to all.
  const text = query.toString().replaceAll("+", "%20");
  return `${path}${path.includes("?") ? "&" : "?"}${text}`;
}
