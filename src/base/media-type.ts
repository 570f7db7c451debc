/** The media types of content.   RFC 9110 §8.3.1 */

/** Tells whether a type is JSON: `application/json`, `text/json`, and every `+json` type, with or without parameters. */
export function isJsonType(contentType: string): boolean {
  // Of every request: the types that are usual are not taken apart.
  if (contentType === "application/vnd.agtp+json" || contentType === "application/json")
    return true;
  const end = contentType.indexOf(";");
  const type = (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
  return type.endsWith("/json") || type.endsWith("+json");
}
