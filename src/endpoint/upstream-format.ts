/**
 * The formats of values for an external service, both ways: bodies, fields in headers, and lists
 * and objects in a query or a form.   AGTP-API §12.3
 */
import { isFieldValue, isToken } from "../wire/header-fields.ts";

export const BODY_FORMATS = ["json", "form", "multipart", "text", "binary", "none"] as const;
/** A format of request bodies; "none" sends no body. */
export type BodyFormat = (typeof BODY_FORMATS)[number];

/** The methods that have a body by default. */
export const BODY_METHODS: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

export const RESPONSE_FORMATS = ["json", "text", "binary", "json_lines", "events"] as const;
/** A format of answers. */
export type ResponseFormat = (typeof RESPONSE_FORMATS)[number];

/** Tells whether answers of a format are lists. */
export function isList(format: ResponseFormat): boolean {
  return format === "json_lines" || format === "events";
}

/**
 * The style of a list or an object in a query or a form: `a,b`, `a b`, `a|b`, `name[key]=a`, JSON, or a parameter for each
 * member. In a path, the commas of a text stay commas.   RFC 6570 §3.2
 */
export const VALUE_STYLES = ["comma", "space", "pipe", "deep", "json", "explode"] as const;
/** A style of writing lists and objects. */
export type ValueStyle = (typeof VALUE_STYLES)[number];

/** The formats in which values are sent upstream and read back. */
export interface UpstreamEncoding {
  /** The body format; undefined for JSON, if the HTTP method has a body. */
  readonly bodyFormat?: BodyFormat;
  /** The field that is the whole body. */
  readonly bodyField?: string;
  readonly responseFormat: ResponseFormat;
  /** Header names by AGTP field. */
  readonly headerFields: Readonly<Record<string, string>>;
  /** Styles by AGTP field. */
  readonly styles: Readonly<Record<string, ValueStyle>>;
}

/** The encoding of a binding that declares none. */
export const PLAIN_ENCODING: UpstreamEncoding = {
  responseFormat: "json",
  headerFields: {},
  styles: {},
};

/** Fields that the HTTP client writes itself; a second one would permit request smuggling. */
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

/** Returns the fault of a header field. Its value is never quoted, since it may be secret. */
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
