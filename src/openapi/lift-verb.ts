/**
 * Verb lifting: a last path segment that is a method's name, or a `:suffix` of it that is one, says
 * what is done to the rest of the path. `POST /orders/7/cancel` and `POST /orders/7:cancel` are both
 * `CANCEL /orders/7`. The HTTP sidecar and the import of OpenAPI documents share this rule; HTTP
 * methods that only read lift methods that only read.   AGTP-API §5.1, §14.1
 */
import type { Catalog, Verb } from "../catalog/catalog.ts";
import type { Pair } from "../catalog/pair.ts";

/** The method that a word names, if it names one that may be lifted. */
type MethodOf = (word: string) => string | undefined;

const READING_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);
const READING_CATEGORIES: ReadonlySet<string> = new Set(["discovery", "retrieval", "analysis"]);
const NONE: ReadonlySet<string> = new Set();

/** Tells whether an HTTP method promises to change nothing. */
export function isReading(httpMethod: string): boolean {
  return READING_METHODS.has(httpMethod);
}

/** Tells whether a method may be what an HTTP method that only reads stands for. */
export function canRead({ categories }: Pick<Verb, "categories">): boolean {
  return categories.some((category) => READING_CATEGORIES.has(category));
}

/**
 * Reads words as the path grammar compares them: in any case, without "-" and "_". A link that is
 * followed or fetched ahead must not cancel anything, so the HTTP method has a say.
 */
export function methodReader(
  catalog: Catalog,
  httpMethod: string,
  custom: ReadonlySet<string> = NONE,
): MethodOf {
  return (word) => {
    const name = word.replace(/[-_]/g, "").toUpperCase();
    const verb = catalog.verbs.get(name);
    if (verb === undefined) return custom.has(name) && !isReading(httpMethod) ? name : undefined;
    return isReading(httpMethod) && !canRead(verb) ? undefined : name;
  };
}

/** The method in the last segment of a path or a path template; undefined when there is none. */
export function liftVerb(path: string, methodOf: MethodOf): Pair | undefined {
  const slash = path.lastIndexOf("/");
  if (slash === -1) return undefined;
  const last = path.slice(slash + 1);
  const whole = methodOf(last);
  if (whole !== undefined) return { method: whole, path: path.slice(0, slash) || "/" };
  const colon = last.lastIndexOf(":");
  // ":cancel" alone would leave an empty segment behind.
  if (colon < 1) return undefined;
  const method = methodOf(last.slice(colon + 1));
  return method === undefined ? undefined : { method, path: path.slice(0, slash + 1 + colon) };
}
