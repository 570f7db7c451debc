/**
 * The forms of values for an external service, written and read back: formats of bodies, fields
 * that travel as headers, lists and objects in a query or a form.   AGTP-API §12.3
 */
import { isFieldValue, isToken } from "../wire/header-fields.ts";

export const BODY_FORMATS = ["json", "form", "multipart", "text", "binary", "none"] as const;
/** A format in which a body is sent, or that none is. */
export type BodyFormat = (typeof BODY_FORMATS)[number];

/** The methods that have a body unless their endpoint says otherwise. */
export const BODY_METHODS: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

export const RESPONSE_FORMATS = ["json", "text", "binary", "json_lines", "events"] as const;
/** A format in which an answer is read. */
export type ResponseFormat = (typeof RESPONSE_FORMATS)[number];

/** Tells whether what is answered in a format is a list. */
export function isList(format: ResponseFormat): boolean {
  return format === "json_lines" || format === "events";
}

/**
 * The style of a list or an object in a query or a form: `a,b`, `a b`, `a|b`, `name[key]=a`, JSON, or a parameter for each
 * member. In a path, the commas of a text stay commas.   RFC 6570 §3.2
 */
export const VALUE_STYLES = ["comma", "space", "pipe", "deep", "json", "explode"] as const;
/** A style in which lists and objects are written. */
export type ValueStyle = (typeof VALUE_STYLES)[number];

/** The forms in which values are written upstream, and read back. */
export interface UpstreamEncoding {
  /** Undefined: JSON, where the HTTP method has a body. */
  readonly bodyFormat?: BodyFormat;
  /** The field whose value is the whole body. */
  readonly bodyField?: string;
  readonly responseFormat: ResponseFormat;
  /** AGTP field -> header name. */
  readonly headerFields: Readonly<Record<string, string>>;
  /** By AGTP field. */
  readonly styles: Readonly<Record<string, ValueStyle>>;
}

/** The encoding of a binding that declares none. */
export const PLAIN_ENCODING: UpstreamEncoding = {
  responseFormat: "json",
  headerFields: {},
  styles: {},
};

/** The HTTP client writes these itself; a second opinion is how requests get smuggled. */
const FRAMING: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Says what is wrong with a header field. Its value is never quoted: it may be a secret. */
export function checkHeader(name: string, value: string): string | undefined {
  if (!isToken(name)) return "is no header name";
  const lower = name.toLowerCase();
  if (FRAMING.has(lower)) return "is a header that the HTTP client sets itself";
  if (lower === "accept-encoding" && value.trim().toLowerCase() !== "identity") {
    return 'asks for compressed responses, which are not read: only "identity" may stand there';
  }
  if (!isFieldValue(value)) return "has a line break or another character that no header may have";
  return undefined;
}
