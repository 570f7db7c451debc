/**
 * Endpoints whose path has no parameters, by method, then by path. What costs time among ten thousand
 * endpoints is the memory that nothing has touched lately. So there are few maps beside the large
 * one, and paths are copied out of the files that they were read from, to lie together.
 * AGTP-API §5.4
 */
import { flatText } from "../base/flat-text.ts";

/** The literal paths of a registry. */
export interface LiteralIndex<E> {
  /** Adds an entry, unless its method and path are taken: by the entry it returns. */
  add(method: string, path: string, entry: E): E | undefined;
  find(method: string, path: string): E | undefined;
  /** Every method of the path. */
  methods(path: string): Iterable<string>;
}

/** Creates an index without paths. */
export function createLiteralIndex<E>(): LiteralIndex<E> {
  const entries = new Map<string, Map<string, E>>();
  const methods = new Map<string, readonly string[]>();
  return {
    add(method, path, entry) {
      const paths = entries.get(method) ?? new Map<string, E>();
      const other = paths.get(path);
      if (other !== undefined) return other;
      entries.set(method, paths.set(flatText(path), entry));
      methods.set(path, [...(methods.get(path) ?? []), method]);
      return undefined;
    },
    find: (method, path) => entries.get(method)?.get(path),
    methods: (path) => methods.get(path) ?? [],
  };
}
