/** JSON Pointers: one token of them, as it is written and as it is meant.   RFC 6901 §3, §4 */

/** A member's name as a token. */
export function escapeToken(name: string): string {
  return /[~/]/.test(name) ? name.replaceAll("~", "~0").replaceAll("/", "~1") : name;
}

/** The name that a token stands for. */
export function unescapeToken(token: string): string {
  return token.replaceAll("~1", "/").replaceAll("~0", "~");
}
