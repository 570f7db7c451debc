/**
 * Authority-Scope: reads the header's token list, and says whether granted scopes cover a required
 * one. The drafts name wildcards without an algorithm; here tokens are compared segment by segment,
 * `*` stands for one segment and, in last place, for one or more.   AGTP "Authority-Scope"
 */

/** `scope-token = scope-segment 1*( ":" scope-segment )`, a segment being a name or `*`. */
const SCOPE_TOKEN = /^(?:[A-Za-z0-9_-]+|\*)(?::(?:[A-Za-z0-9_-]+|\*))+$/;
const MAX_TOKENS = 256;
const MAX_TOKEN_LENGTH = 256;

/** Granted scopes, compiled once for the many requests that they are compared with. */
export interface Grants {
  /** Whether one of the granted scopes covers this one. */
  covers(required: string): boolean;
}

/** Whether a text is one scope token: two segments at least, wildcards allowed. */
export function isScopeToken(text: string): boolean {
  return text.length <= MAX_TOKEN_LENGTH && SCOPE_TOKEN.test(text);
}

/** The tokens of a header value, none for an empty one; undefined when it is malformed. */
export function parseAuthorityScope(value: string): readonly string[] | undefined {
  const list = trimWhitespace(value);
  if (list === "") return [];
  // Examples in companion drafts separate by spaces; a comma anywhere makes that malformed.
  const tokens = list.includes(",") ? list.split(",").map(trimWhitespace) : list.split(/[ \t]+/);
  return tokens.length <= MAX_TOKENS && tokens.every(isScopeToken) ? tokens : undefined;
}

/** Whether one of the granted scopes is the required one, or a wildcard at least as wide. */
export function covers(granted: readonly string[], required: string): boolean {
  if (granted.includes(required)) return true;
  const segments = required.split(":");
  return granted.some((scope) => scope.includes("*") && matchSegments(scope.split(":"), segments));
}

/** Compiles granted scopes: a lookup for plain tokens, a scan only for wildcards. */
export function compileGrants(granted: readonly string[]): Grants {
  const exact = new Set(granted);
  const wildcards = granted.filter((scope) => scope.includes("*")).map((scope) => scope.split(":"));
  if (wildcards.length === 0) return { covers: (required) => exact.has(required) };
  return {
    covers: (required) => {
      if (exact.has(required)) return true;
      const segments = required.split(":");
      return wildcards.some((wildcard) => matchSegments(wildcard, segments));
    },
  };
}

/** What both of two lists grant; the narrower token of each pair that one of them covers. */
export function commonScopes(one: readonly string[], other: readonly string[]): readonly string[] {
  const [a, b] = [compileGrants(one), compileGrants(other)];
  const common = [
    ...one.filter((scope) => b.covers(scope)),
    ...other.filter((scope) => a.covers(scope)),
  ];
  return [...new Set(common)];
}

/**
 * A `*` in `required` is compared as a segment of its own: nothing narrower than a wildcard in the
 * same place can cover it.
 */
function matchSegments(granted: readonly string[], required: readonly string[]): boolean {
  const last = granted.length - 1;
  for (const [index, segment] of granted.entries()) {
    const other = required[index];
    if (other === undefined) return false;
    if (segment === "*") {
      if (index === last) return true;
    } else if (segment !== other) return false;
  }
  return required.length === granted.length;
}

/** OWS is space and tab alone; String.trim would take line breaks and Unicode spaces as well. */
function trimWhitespace(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isWhitespace(text.charCodeAt(start))) start += 1;
  while (end > start && isWhitespace(text.charCodeAt(end - 1))) end -= 1;
  return start === 0 && end === text.length ? text : text.slice(start, end);
}

function isWhitespace(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
