/**
 * Endpoints whose path has no parameters. They are kept by method, then by path: the few maps of the
 * methods stay close to the processor, so that of ten thousand endpoints a request touches its own
 * alone.   AGTP-API §5.4
 */
import type { RouteEntry } from "./endpoint-registry.ts";

/** The literal paths of a registry. */
export interface LiteralIndex<E> {
  /** Adds an entry, unless its method and path are taken: by the entry it returns. */
  add(entry: E): E | undefined;
  find(method: string, path: string): E | undefined;
  /** Every method of the path. */
  methods(path: string): Iterable<string>;
}

/** Creates an index without paths. */
export function createLiteralIndex<E extends RouteEntry>(): LiteralIndex<E> {
  const entries = new Map<string, Map<string, E>>();
  const methods = new Map<string, readonly string[]>();
  return {
    add(entry) {
      const { method, path } = entry;
      const paths = entries.get(method) ?? new Map<string, E>();
      const other = paths.get(path);
      if (other !== undefined) return other;
      entries.set(method, paths.set(path, entry));
      methods.set(path, [...(methods.get(path) ?? []), method]);
      return undefined;
    },
    find: (method, path) => entries.get(method)?.get(path),
    methods: (path) => methods.get(path) ?? [],
  };
}
