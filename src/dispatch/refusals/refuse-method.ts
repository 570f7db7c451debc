/** The 459 of a method that nobody knows, and the 405 of one that is not exposed on a path, with what is.   AGTP-API §11 */
import { flatText } from "../../base/kept-text.ts";
import type { EndpointRegistry } from "../../endpoint/endpoint-registry.ts";
import type { Exchange } from "../exchange.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import type { Route } from "../routes/route.ts";
import { methodNotAllowed, methodViolation, type Refusal, sameForAll } from "./refusal.ts";

/** The method that was refused last beside a list of methods; its refusal, once it has come twice. */
interface LastRefused {
  readonly method: string;
  refusal: Refusal | undefined;
}

/** By the list of a path's methods, which is the same each time. */
const lastRefused = new WeakMap<readonly string[], LastRefused>();

/** Names the methods that the path has, and where others are redirected. */
export function refuseMethod(
  { method, path }: Pick<Exchange, "method" | "path">,
  policy: MethodPolicy,
  registry: EndpointRegistry<Route>,
): Refusal {
  const methods = registry.methodsFor(path);
  const isAllowed = (name: string): boolean => policy.isAllowed(name);
  const redirects = policy.redirectsFor(path);
  const message = `method "${method}" is not exposed on this path`;
  if (!methods.every(isAllowed)) {
    return methodNotAllowed(message, methods.filter(isAllowed), redirects);
  }
  const before = lastRefused.get(methods);
  if (hasMembers(redirects) || before?.method !== method) {
    lastRefused.set(methods, { method: flatText(method), refusal: undefined });
    return methodNotAllowed(message, methods, redirects);
  }
  before.refusal ??= sameForAll(methodNotAllowed(message, methods, redirects));
  return before.refusal;
}

function hasMembers(record: object): boolean {
  for (const _ in record) return true;
  return false;
}

const REMEMBERED_METHODS = 256;

interface RememberedMethod {
  readonly method: string;
  readonly refusal: Refusal;
}

/**
 * Makes refusals of methods that nobody knows. A client that keeps making one mistake must not cost more
 * than one that makes none, nor one that makes another each time: each takes the place of some other, and
 * no table grows (a map took 0.3 µs).
 */
export function createViolations(
  catalogVersion: string,
  { closeMatches }: Pick<MethodPolicy, "closeMatches">,
): (method: string) => Refusal {
  const places = new Array<RememberedMethod | undefined>(REMEMBERED_METHODS).fill(undefined);
  return (method) => {
    const place = placeOf(method);
    const known = places[place];
    if (known?.method === method) return known.refusal;
    const refusal = methodViolation(method, catalogVersion, closeMatches(method));
    places[place] = { method, refusal };
    return refusal;
  };
}

function placeOf(method: string): number {
  let mark = method.length;
  for (let at = 0; at < method.length; at += 1) mark = (mark * 31 + method.charCodeAt(at)) | 0;
  return mark & (REMEMBERED_METHODS - 1);
}
