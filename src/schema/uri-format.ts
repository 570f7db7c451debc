/** The formats of URIs, IRIs, their references and URI templates, in time linear in the text. */
import { isIpv6Address } from "./name-formats.ts";

const UNRESERVED_AND_SUB = "A-Za-z0-9\\-._~%!$&'()*+,;=";
const UCSCHAR =
  "\\u{a0}-\\u{d7ff}\\u{f900}-\\u{fdcf}\\u{fdf0}-\\u{ffef}" +
  Array.from({ length: 13 }, (_, at) => planeRange(at + 1, 0)).join("") +
  planeRange(14, 0x1000);
const IPRIVATE = `\\u{e000}-\\u{f8ff}${planeRange(15, 0)}${planeRange(16, 0)}`;

function planeRange(plane: number, from: number): string {
  const code = (within: number): string => `\\u{${(plane * 0x10000 + within).toString(16)}}`;
  return `${code(from)}-${code(0xfffd)}`;
}

/** The patterns of the first invalid character of each part. */
interface Strangers {
  readonly name: RegExp;
  readonly userinfo: RegExp;
  readonly path: RegExp;
  readonly query: RegExp;
  readonly fragment: RegExp;
}

function strangersBut(letters: string, inQuery: string): Strangers {
  const but = (more: string): RegExp =>
    new RegExp(`[^${UNRESERVED_AND_SUB}${letters}${more}]`, "u");
  return {
    name: but(""),
    userinfo: but(":"),
    path: but(":@/"),
    query: but(`:@/?${inQuery}`),
    fragment: but(":@/?"),
  };
}

const IN_URIS = strangersBut("", "");
const IN_IRIS = strangersBut(UCSCHAR, IPRIVATE);
const BAD_ESCAPE = /%(?![0-9a-f]{2})/i;
const SCHEME = /^[a-z][a-z0-9+\-.]*$/i;
const IP_FUTURE = /^v[0-9a-f]+\.[a-z0-9\-._~!$&'()*+,;=:]+$/i;

/** `URI` of RFC 3986 Appendix A. */
export function isUri(text: string): boolean {
  return hasScheme(text) && isReference(text, IN_URIS);
}

/** `URI-reference` of RFC 3986 Appendix A. */
export function isUriReference(text: string): boolean {
  return isReference(text, IN_URIS);
}

/** `IRI` of RFC 3987 §2.2. */
export function isIri(text: string): boolean {
  return hasScheme(text) && isReference(text, IN_IRIS);
}

/** `IRI-reference` of RFC 3987 §2.2. */
export function isIriReference(text: string): boolean {
  return isReference(text, IN_IRIS);
}

function hasScheme(text: string): boolean {
  return text[text.search(/[:/?#]/)] === ":";
}

function isReference(text: string, strangers: Strangers): boolean {
  if (BAD_ESCAPE.test(text)) return false;
  const [beforeFragment, fragment] = divide(text, "#");
  const [whole, query] = divide(beforeFragment, "?");
  if (strangers.fragment.test(fragment) || strangers.query.test(query)) return false;
  // A colon in the first segment ends the scheme.
  const [scheme, hierarchy] = hasScheme(whole) ? divide(whole, ":") : [undefined, whole];
  if (scheme !== undefined && !SCHEME.test(scheme)) return false;
  if (!hierarchy.startsWith("//")) return !strangers.path.test(hierarchy);
  const [authority, path] = divide(hierarchy.slice(2), "/");
  return !strangers.path.test(path) && isAuthority(authority, strangers);
}

function isAuthority(text: string, strangers: Strangers): boolean {
  const at = text.indexOf("@");
  if (strangers.userinfo.test(text.slice(0, Math.max(at, 0)))) return false;
  const place = text.slice(at + 1);
  const hostEnd = place.startsWith("[") ? place.indexOf("]") + 1 : place.search(/:|$/);
  const host = place.slice(0, hostEnd);
  if (!/^(?::\d*)?$/.test(place.slice(hostEnd))) return false;
  if (!place.startsWith("[")) return !strangers.name.test(host);
  const literal = host.slice(1, -1);
  return isIpv6Address(literal) || IP_FUTURE.test(literal);
}

/** Splits a text at the first occurrence of a character. */
function divide(text: string, character: string): readonly [string, string] {
  const at = text.indexOf(character);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

const NO_LITERAL = /[\0-\x20\x7f-\x9f"<>\\^`{|}]|\p{Surrogate}|%(?![0-9a-f]{2})/iu;
const NO_VARIABLE = /[^a-z0-9_.%]|^\.|\.\.|\.$|^$|%(?![0-9a-f]{2})/i;

/** `URI-Template` of RFC 6570 §2, with an apostrophe as a literal by erratum 6937. */
export function isUriTemplate(text: string): boolean {
  const [first = "", ...rest] = text.split("{");
  return !NO_LITERAL.test(first) && rest.every(isExpressionThenLiteral);
}

function isExpressionThenLiteral(text: string): boolean {
  const end = text.indexOf("}");
  if (end < 0 || NO_LITERAL.test(text.slice(end + 1))) return false;
  const variables = text.slice(0, end).replace(/^[+#./;?&=,!@|]/, "");
  return variables
    .split(",")
    .every((one) => !NO_VARIABLE.test(one.replace(/(?::[1-9]\d{0,3}|\*)$/, "")));
}
