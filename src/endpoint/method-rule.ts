/**
 * Checks the methods that endpoints and recipes name: those of the catalog and the custom ones are
 * permitted. Legacy, removed and unknown verbs are problems with a remedy.   AGTP-API §3.2, §3.3,
 * §3.6, §4.5
 */
import { suggest } from "../base/close-matches.ts";
import type { DocumentPlace } from "../base/document-place.ts";
import { quoteValue } from "../base/json-value.ts";
import { decodePart } from "../base/percent-encoding.ts";
import { type Catalog, FLOOR_GROUPS, isMethodName } from "../catalog/catalog.ts";
import { type MethodNames, RESERVED_NAMES } from "../catalog/path-grammar.ts";
import { isScopeToken } from "../identity/authority-scope.ts";

/** The method names that a server knows. */
export interface Vocabulary {
  readonly catalog: Catalog;
  /** The names as the path grammar compares them. */
  readonly names: MethodNames;
  /** `policies.methods.custom`. */
  readonly customMethods: ReadonlySet<string>;
}

/** Reads a required method; undefined with a problem if no file may name it. */
export function readMethod(place: DocumentPlace, vocabulary: Vocabulary): string | undefined {
  const method = place.text();
  if (method === undefined) return undefined;
  const fault = checkMethod(method, vocabulary);
  return fault === undefined ? method : place.fail(fault.message, fault.hint);
}

function checkMethod(method: string, vocabulary: Vocabulary) {
  const { catalog, customMethods } = vocabulary;
  const quoted = quoteValue(method);
  const legacy = catalog.legacy.get(method);
  if (legacy !== undefined) {
    return {
      message: `${quoted} is a legacy verb, which no new definition may use`,
      hint: `use ${legacy.preferred}`,
    };
  }
  if (!isMethodName(method)) {
    const upper = method.toUpperCase();
    const message = `${quoted} is no method name, expected 3 to 32 letters A to Z`;
    return catalog.has(upper) ? { message, hint: `did you mean ${upper}?` } : { message };
  }
  if (catalog.has(method) || customMethods.has(method)) return undefined;
  const message = `${quoted} is not in the method catalog at version ${catalog.version}`;
  const near = suggest(method, [...catalog.verbs.keys(), ...customMethods]);
  return { message, hint: near ?? "policies.methods.custom names methods of a server's own" };
}

const LIFECYCLE: ReadonlySet<string> = new Set(FLOOR_GROUPS.lifecycle);

/**
 * Returns why a pair is reserved for the protocol: these methods on "/", the lifecycle methods on
 * an agent's path, and DISCOVER below the reserved names.   AGTP-API §5.9, §6.1
 */
export function checkReservation(
  method: string,
  path: string,
  rootMethods: readonly string[],
): string | undefined {
  if (path === "/" && rootMethods.includes(method)) {
    return `"/" under ${method} belongs to the protocol`;
  }
  const [first = "", ...others] = path.slice(1).split("/");
  // An encoded letter equals the plain one.   RFC 3986 §6.2.2.2
  const name = decodePart(first) ?? first;
  if (LIFECYCLE.has(method) && name === "agents" && others.length === 1) {
    return `${JSON.stringify(path)} under ${method} belongs to the protocol: it is about an agent`;
  }
  if (method !== "DISCOVER") return undefined;
  const reserved = RESERVED_NAMES.find((one) => name.startsWith(one));
  if (reserved !== undefined) {
    return `${JSON.stringify(path)} is reserved under DISCOVER: it begins like "/${reserved}"`;
  }
  if (!first.startsWith("{")) return undefined;
  return `${JSON.stringify(path)} could stand for a reserved name under DISCOVER`;
}

/** Reads `required_scopes`; empty if absent.   AGTP-API §6.4, AGTP "Authority-Scope" */
export function readRequiredScopes(table: DocumentPlace): readonly string[] {
  const scopes = table.at("required_scopes").texts();
  for (const scope of scopes) {
    if (isScopeToken(scope)) continue;
    const expected = 'expected two or more segments, as in "booking:room"';
    table.at("required_scopes").fail(`${quoteValue(scope)} is no scope, ${expected}`);
  }
  return scopes;
}
