/** Header fields that an operator sends upstream: well-formed, and none that frames a message. */

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Visible characters, spaces and tabs; no line break can start a header of its own. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
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
  if (!NAME.test(name)) return "is no header name";
  if (FRAMING.has(name.toLowerCase())) return "is a header that the HTTP client sets itself";
  if (!VALUE.test(value)) return "has a line break or another character that no header may have";
  return undefined;
}
