/**
 * The 459 of an unknown method, and the 405 of a method that a path does not expose, with the
 * methods that it does.   AGTP-API §11
 */
import { jsonMembers, jsonText } from "../../base/json-value.ts";
import { flatText } from "../../base/kept-text.ts";
import type { EndpointRegistry } from "../../endpoint/endpoint-registry.ts";
import type { Exchange } from "../exchange.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import type { Route } from "../routes/route.ts";
import { type Refusal, refusal, sameForAll } from "./refusal.ts";

/** The last refused method of a list of methods; its refusal is kept once it occurs twice. */
interface LastRefused {
  readonly method: string;
  refusal: Refusal | undefined;
}

/** Keyed by a path's list of methods, which is the same object each time. */
const lastRefused = new WeakMap<readonly string[], LastRefused>();

/** Refuses a method with those that the requested path has, and its redirects. */
export function refuseMethod(
  { method, request: { path } }: Pick<Exchange, "method" | "request">,
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

/** 405: method and path are valid, but their combination is not exposed.   AGTP-API §11 */
export function methodNotAllowed(
  message: string,
  allowed: readonly string[],
  redirects: Readonly<Record<string, string>>,
): Refusal {
  const carried = { allowed_methods_for_path: allowed, redirects_for_path: redirects };
  return refusal(405, "method-not-allowed", message, {
    carried,
    carriedText: allowedText(allowed, redirects) ?? jsonMembers(carried),
  });
}

/** Encoded lists of methods, by list; paths without parameters always have the same list. */
const allowedTexts = new WeakMap<readonly string[], string>();

/** Returns the encoded members; undefined if there are redirects. */
function allowedText(
  allowed: readonly string[],
  redirects: Readonly<Record<string, string>>,
): string | undefined {
  if (hasMembers(redirects)) return undefined;
  const known = allowedTexts.get(allowed);
  if (known !== undefined) return known;
  const carried = { allowed_methods_for_path: allowed, redirects_for_path: redirects };
  const text = flatText(jsonMembers(carried));
  allowedTexts.set(allowed, text);
  return text;
}

function hasMembers(record: object): boolean {
  for (const _ in record) return true;
  return false;
}

/** 459: the method is in none of the server's vocabularies.   AGTP-API §3.2, §4.4 */
export function methodViolation(
  method: string,
  catalogVersion: string,
  suggestions: readonly string[],
): Refusal {
  const message = `method "${method}" is not in the method catalog ${catalogVersion}`;
  const carried = { method, catalog_version: catalogVersion, suggestions };
  const suggested = suggestions.length === 0 ? "[]" : JSON.stringify(suggestions);
  const name = jsonText(method);
  const carriedText = `"method":${name},"catalog_version":"${catalogVersion}","suggestions":${suggested}`;
  const isPlain = name.length === method.length + 2;
  if (!isPlain) return refusal(459, "method-not-in-catalog", message, { carried });
  const sentence = `"method \\"${method}\\" is not in the method catalog ${catalogVersion}"`;
  return refusal(459, "method-not-in-catalog", message, {
    carried,
    text: `{${carriedText},"error":{"code":"method-not-in-catalog","message":${sentence},${carriedText}}}`,
  });
}

const REMEMBERED_METHODS = 256;

interface RememberedMethod {
  readonly method: string;
  readonly refusal: Refusal;
}

/**
 * Creates the refusals of unknown methods in a direct-mapped cache: a repeated mistake costs no
 * more than none, and new ones overwrite old slots, so that no table grows (a map took 0.3 µs).
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
