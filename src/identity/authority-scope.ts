/**
 * Authority-Scope: parses the header's token list, and decides whether granted scopes cover a
 * required one. The drafts name wildcards without an algorithm; here tokens are compared segment by
 * segment, where `*` matches one segment, or in last place one or more.   AGTP "Authority-Scope"
 */

/** `scope-token = scope-segment 1*( ":" scope-segment )`, where a segment is a name or `*`. */
const SCOPE_TOKEN = /^(?:[A-Za-z0-9_-]+|\*)(?::(?:[A-Za-z0-9_-]+|\*))+$/;
const MAX_TOKENS = 256;
const MAX_TOKEN_LENGTH = 256;

/** Granted scopes, compiled once for many comparisons. */
export interface Grants {
  /** Returns true if one of the granted scopes covers this one. */
  covers(required: string): boolean;
}

/** Returns true if a text is one scope token: at least two segments, wildcards allowed. */
export function isScopeToken(text: string): boolean {
  return text.length <= MAX_TOKEN_LENGTH && SCOPE_TOKEN.test(text);
}

/** Parses a header value into tokens, none for an empty one; undefined if it is malformed. */
export function parseAuthorityScope(value: string): readonly string[] | undefined {
  const list = trimWhitespace(value);
  if (list === "") return [];
  // Examples in companion drafts separate by spaces; a value with both separators is malformed.
  const tokens = list.includes(",") ? list.split(",").map(trimWhitespace) : list.split(/[ \t]+/);
  return tokens.length <= MAX_TOKENS && tokens.every(isScopeToken) ? tokens : undefined;
}

/** Returns true if one of the granted scopes is the required one, or a wildcard at least as wide. */
export function covers(granted: readonly string[], required: string): boolean {
  return compileGrants(granted).covers(required);
}

/** Compiles granted scopes: a set for plain tokens, a bit mask for all wildcards. */
export function compileGrants(granted: readonly string[]): Grants {
  const exact = new Set(granted);
  const wildcards = [...exact].filter((scope) => scope.includes("*"));
  if (wildcards.length === 0) return { covers: (required) => exact.has(required) };
  let places: readonly Place[] | undefined;
  return {
    covers: (required) => {
      if (exact.has(required)) return true;
      // Compiled on demand: most callers are only asked for plain tokens.
      places ??= compileWildcards(wildcards);
      return isMatched(places, required.split(":"));
    },
  };
}

/** The scopes granted by both lists: of each pair of tokens where one covers the other, the narrower. */
export function commonScopes(one: readonly string[], other: readonly string[]): readonly string[] {
  const [a, b] = [compileGrants(one), compileGrants(other)];
  const common = [
    ...one.filter((scope) => b.covers(scope)),
    ...other.filter((scope) => a.covers(scope)),
  ];
  return [...new Set(common)];
}

/** The wildcards that have a segment at one position, as bit masks with a bit for each wildcard. */
interface Place {
  /** The wildcards with a `*` at this position, which matches any segment. */
  any: bigint;
  readonly named: Map<string, bigint>;
  /** The wildcards that end at this position. */
  last: bigint;
  /** The wildcards that end here in a `*`, which covers any further segments. */
  open: bigint;
}

function compileWildcards(wildcards: readonly string[]): readonly Place[] {
  const places: Place[] = [];
  for (const [number, wildcard] of wildcards.entries()) {
    const bit = 1n << BigInt(number);
    const segments = wildcard.split(":");
    for (const [index, segment] of segments.entries()) {
      const place = places[index] ?? { any: 0n, named: new Map(), last: 0n, open: 0n };
      places[index] = place;
      if (segment === "*") place.any |= bit;
      else place.named.set(segment, (place.named.get(segment) ?? 0n) | bit);
      if (index < segments.length - 1) continue;
      if (segment === "*") place.open |= bit;
      else place.last |= bit;
    }
  }
  return places;
}

/**
 * Returns true if a wildcard is at least as wide. A `*` in `required` is compared as an ordinary
 * segment: only a wildcard at the same position can cover it.
 */
function isMatched(places: readonly Place[], required: readonly string[]): boolean {
  let matching = -1n;
  for (const [index, segment] of required.entries()) {
    const place = places[index];
    if (place === undefined) return false;
    matching &= place.any | (place.named.get(segment) ?? 0n);
    if ((matching & place.open) !== 0n) return true;
    if (matching === 0n) return false;
  }
  return (matching & (places[required.length - 1]?.last ?? 0n)) !== 0n;
}

/** Why not String.trim: OWS is only space and tab, and trim also removes line breaks and Unicode spaces. */
function trimWhitespace(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isWhitespace(text.charCodeAt(start))) start += 1;
  while (end > start && isWhitespace(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isWhitespace(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
