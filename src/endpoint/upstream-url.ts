/**
 * The URL template of an external service: https, `{field}` in the path or the query, nowhere else.
 * A field in the host would let a caller choose whom the server talks to.   AGTP-API §12.3
 */
import { fillTemplate, templateNames } from "../base/template.ts";

const FIELD_NAME = /^[A-Za-z0-9_]+$/;
const ORIGIN = /^https:\/\/[^/?#]+/i;
// Written out, because the URL parser drops or rewrites these instead of refusing them.
const UNSAFE = /[\x00-\x20\x7f"<>\\^`|]/;

/** AGTP-API §12.3 */
const NO_TLS =
  "must use https: the draft forbids plain HTTP to an upstream, where credentials and inputs could be " +
  "read on the way; put TLS in front of it and name its CA with ca, or write a handler " +
  '(type = "registered_function") that calls it';

/** Says what is wrong with a URL template. It is never quoted: it may hold a secret. */
export function checkUrlTemplate(url: string): string | undefined {
  if (!/^https:/i.test(url)) return NO_TLS;
  if (UNSAFE.test(url)) return "has a character that must be percent-encoded";
  const origin = ORIGIN.exec(url)?.[0];
  if (origin === undefined) return "is no URL, expected https://host/path";
  if (/[{}]/.test(origin)) return "has a field in its host, expected fields in the path or query";
  const filled = fillTemplate(url, (name) => (FIELD_NAME.test(name) ? "x" : undefined));
  if (/[{}]/.test(filled)) return "has braces around something that is no field name";
  if (filled.includes("#")) return "has a fragment, which is never sent";
  if (!URL.canParse(filled)) return "is no URL, expected https://host/path";
  const { username, password } = new URL(filled);
  if (username !== "" || password !== "" || origin.includes("@")) {
    return "has credentials in it, expected an Authorization header";
  }
  return undefined;
}

/** The input fields that a URL template takes. */
export function urlFields(url: string): ReadonlySet<string> {
  return new Set(templateNames(url).filter((name) => FIELD_NAME.test(name)));
}
