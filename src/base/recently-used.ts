/**
 * Caches of what was used last, bounded in their number. Told of a `max`, the library lays out room for
 * all of it at once: a millisecond for each ten thousand, of which most daemons never have a hundred.
 */
import { LRUCache } from "lru-cache";

/** Values by text, the least recently used of which goes first; with `ttlMs` none is older. */
export type RecentlyUsed<Value extends object | true | string> = LRUCache<string, Value>;

/** An empty one, which grows to so many. */
export function recentlyUsed<Value extends object | true | string>(
  max: number,
  ttlMs = 0,
): RecentlyUsed<Value> {
  return new LRUCache({ maxSize: max, sizeCalculation: () => 1, ttl: ttlMs });
}
