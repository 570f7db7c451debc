/**
 * LRU caches bounded in number. With `max` the library allocates all slots at once, a millisecond
 * for each ten thousand, of which most daemons never use a hundred; so the size is bounded instead.
 */
import { LRUCache } from "lru-cache";

/** Values by text; the least recently used is evicted first, and with `ttlMs` values expire. */
export type RecentlyUsed<Value extends object | true | string> = LRUCache<string, Value>;

/** Creates an empty cache for at most this many values. */
export function recentlyUsed<Value extends object | true | string>(
  max: number,
  ttlMs = 0,
): RecentlyUsed<Value> {
  return new LRUCache({ maxSize: max, sizeCalculation: () => 1, ttl: ttlMs });
}
