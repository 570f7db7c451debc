/** The formats of Internet names and mailboxes, in time linear in the text. */
import { isIPv4, isIPv6 } from "node:net";
import { domainToASCII, domainToUnicode } from "node:url";

const MAX_HOSTNAME_LENGTH = 253;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;
/** Hyphens in the third and fourth place, which only an A-label may have. */
const RESERVED = /^..--/;

/** A host name of RFC 1123 §2.1, with A-labels of RFC 5891. */
export function isHostname(text: string): boolean {
  if (text.length > MAX_HOSTNAME_LENGTH) return false;
  return text
    .split(".")
    .every((label) => LABEL.test(label) && (!RESERVED.test(label) || isALabel(label)));
}

/**
 * Characters that RFC 5892 disallows but the platform accepts by the tables of UTS 46: its
 * exceptions, and characters without the context that they require.   RFC 5892 §2.6, Appendix A
 */
const DISALLOWED = [
  RESERVED,
  /[\u0640\u07fa\u302e\u302f\u3031-\u3035\u303b]/,
  /(?<!l)\u00b7|\u00b7(?!l)/,
  /\u0375(?!\p{Script=Greek})/u,
  /(?<!\p{Script=Hebrew})[\u05f3\u05f4]/u,
  /^[^\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]*\u30fb[^\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]*$/u,
];

function isALabel(label: string): boolean {
  const name = label.toLowerCase();
  const decoded = name.startsWith("xn--") ? domainToUnicode(name) : "";
  // The label is invalid if it decodes to ASCII alone, or encodes differently again.
  if (decoded === "" || domainToASCII(decoded) !== name) return false;
  return !DISALLOWED.some((one) => one.test(decoded));
}

/** `IPv6address` of RFC 3986 §3.2.2 and RFC 4291 §2.2, without a zone. */
export function isIpv6Address(text: string): boolean {
  return !text.includes("%") && isIPv6(text);
}

const NO_DOT_STRING = /[^a-z0-9!#$%&'*+/=?^_`{|}~.-]|^\.|\.\.|\.$|^$/i;
const QUOTED_PAIR = /\\[ -~]/g;
const NO_QTEXT = /[^ !#-[\]-~]/;

/** `Mailbox` of RFC 5321 §4.1.2, with a fully qualified domain (§2.3.5) or an IPv4 or IPv6 address literal. */
export function isEmail(text: string): boolean {
  const at = text.lastIndexOf("@");
  const domain = text.slice(at + 1);
  if (at < 0 || !isLocalPart(text.slice(0, at))) return false;
  if (!domain.startsWith("[")) return domain.includes(".") && isHostname(domain);
  const literal = domain.slice(1, -1);
  const isLiteral = /^ipv6:/i.test(literal) ? isIpv6Address(literal.slice(5)) : isIPv4(literal);
  return domain.endsWith("]") && isLiteral;
}

function isLocalPart(text: string): boolean {
  const isQuoted = text.length > 1 && text.startsWith('"') && text.endsWith('"');
  return isQuoted
    ? !NO_QTEXT.test(text.slice(1, -1).replace(QUOTED_PAIR, ""))
    : !NO_DOT_STRING.test(text);
}
