/**
 * The pairs of existing endpoints, with the files that declare them; later endpoints may not
 * replace them.   AGTP-API §6.1
 */
import { filterPaced, type Paced } from "../../base/paced.ts";
import type { Problem } from "../../base/problem.ts";
import type { Route } from "./route.ts";

/** Files by the pairs that they declare; names of parameters do not count. */
export class TakenPairs {
  readonly #files = new Map<string, string>();

  /** Adds the pairs of more routes. */
  *adding(routes: readonly Route[]): Paced<void> {
    for (const { method, path, definition } of routes) {
      this.#files.set(keyOf(method, path), definition.file);
      yield;
    }
  }

  /** Returns the file that declares a pair. */
  fileOf({ method, path }: Pick<Route, "method" | "path">): string | undefined {
    return this.#files.get(keyOf(method, path));
  }

  /** Returns the routes whose pairs are free, and a problem under this key for each other route. */
  *freeAmong(
    routes: readonly Route[],
    key: string,
  ): Paced<{ readonly routes: readonly Route[]; readonly problems: readonly Problem[] }> {
    const problems: Problem[] = [];
    const free = yield* filterPaced(routes, (route) => {
      const taken = this.fileOf(route);
      if (taken === undefined) return true;
      const { method, path, definition } = route;
      const message = `${method} ${path} is already an endpoint of ${taken}`;
      problems.push({ file: definition.file, key, message });
      return false;
    });
    return { routes: free, problems };
  }
}

function keyOf(method: string, path: string): string {
  return `${method} ${path.includes("{") ? path.replaceAll(/\{\w+\}/g, "{}") : path}`;
}
