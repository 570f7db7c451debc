/**
 * Judges an endpoint beyond the types of its members: its path, the parameters in it, and
 * the errors that it declares.   AGTP-API §5.2, §5.3, §6.4
 */

import { isRecord } from "../../base/json-value.ts";
import { FLOOR_METHODS } from "../../catalog/catalog.ts";
import { checkTemplate, templateParameters } from "../../catalog/path-grammar.ts";
import type { Bindings } from "./bindings.ts";

/** The methods of every catalog, as the path grammar compares them. */
const FLOOR_NAMES: ReadonlySet<string> = new Set(FLOOR_METHODS.map((name) => name.toLowerCase()));
const MAX_PATH_LENGTH = 8192;
const MAX_DEPTH = 8;

/** A path that may be registered. */
export function checkPathTemplate(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > MAX_PATH_LENGTH) return "expected a path";
  const fault = checkTemplate(value, FLOOR_NAMES);
  return fault && `expected a path that the grammar allows: ${fault.message}`;
}

/** An endpoint whose input schema declares what its path names. */
export function checkDeclaredParameters(value: unknown): string | undefined {
  if (!isRecord(value)) return "expected an endpoint";
  const { path, input_schema: schema } = value;
  const declared = isRecord(schema) ? schema["properties"] : undefined;
  const missing = templateParameters(typeof path === "string" ? path : "").find(
    (name) => !isRecord(declared) || !Object.hasOwn(declared, name),
  );
  return missing && `expected the parameter {${missing}} in the properties of the input_schema`;
}

/** A body that names one of the errors which the tried endpoint declares. */
export function checkDeclaredError(
  value: unknown,
  bindings: Bindings,
  endpoint: string,
): string | undefined {
  const declared = bindings.get(`${endpoint}.errors`);
  const names = Array.isArray(declared) ? declared : [];
  if (namesOne(value, names, 0)) return undefined;
  return `expected an error that the endpoint declares, one of ${names.join(", ") || "none"}`;
}

function namesOne(value: unknown, names: readonly unknown[], depth: number): boolean {
  if (typeof value === "string") return names.includes(value);
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return false;
  return Object.values(value).some((member) => namesOne(member, names, depth + 1));
}
