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
  /** Tells whether one of the granted scopes covers this one. */
  covers(required: string): boolean;
}

/** Tells whether a text is one scope token: two segments at least, wildcards allowed. */
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

/** Tells whether one of the granted scopes is the required one, or a wildcard at least as wide. */
export function covers(granted: readonly string[], required: string): boolean {
  return compileGrants(granted).covers(required);
}

/** Compiles granted scopes: a lookup for plain tokens, one comparison with all wildcards together. */
export function compileGrants(granted: readonly string[]): Grants {
  const exact = new Set(granted);
  const wildcards = [...exact].filter((scope) => scope.includes("*"));
  if (wildcards.length === 0) return { covers: (required) => exact.has(required) };
  let places: readonly Place[] | undefined;
  return {
    covers: (required) => {
      if (exact.has(required)) return true;
      // Most callers are asked for plain tokens alone.
      places ??= compileWildcards(wildcards);
      return isMatched(places, required.split(":"));
    },
  };
}

/** The scopes that both of two lists grant; the narrower token of each pair that one of them covers. */
export function commonScopes(one: readonly string[], other: readonly string[]): readonly string[] {
  const [a, b] = [compileGrants(one), compileGrants(other)];
  const common = [
    ...one.filter((scope) => b.covers(scope)),
    ...other.filter((scope) => a.covers(scope)),
  ];
  return [...new Set(common)];
}

/** The wildcards by their segment in one place, a bit for each of them. */
interface Place {
  /** A `*`, which any segment meets. */
  any: bigint;
  readonly named: Map<string, bigint>;
  /** The wildcards that end here. */
  last: bigint;
  /** The wildcards that end here in a `*`: whatever follows is covered. */
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
 * Tells whether a wildcard is at least as wide. A `*` in `required` is compared as a segment of its
 * own: nothing narrower than a wildcard in the same place can cover it.
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

/** OWS is space and tab alone; String.trim would take line breaks and Unicode spaces as well. */
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
