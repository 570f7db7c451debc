/**
 * Verb lifting: a last path segment that is a method's name, or a `:suffix` of it that is one, says
 * what is done to the rest of the path. `POST /orders/7/cancel` and `POST /orders/7:cancel` are both
 * `CANCEL /orders/7`. The HTTP sidecar and the import of OpenAPI documents share this rule.
 * AGTP-API §5.1, §14.1
 */

/** A method, and the path it was lifted out of. */
export interface LiftedVerb {
  readonly method: string;
  readonly path: string;
}

/** The approved method that a word names, if it names one; letters come in any case. */
export type MethodOf = (word: string) => string | undefined;

/** Reads words as the path grammar compares them: in any case, without "-" and "_". */
export function methodReader(isApproved: (name: string) => boolean): MethodOf {
  return (word) => {
    const name = word.replace(/[-_]/g, "").toUpperCase();
    return isApproved(name) ? name : undefined;
  };
}

/** The method in the last segment of a path or a path template; undefined when there is none. */
export function liftVerb(path: string, methodOf: MethodOf): LiftedVerb | undefined {
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
