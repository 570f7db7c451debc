/** A method of the protocol: parameters in, a result or a failure out. */
import type { JsonRecord } from "../../../base/json-value.ts";
import { type Failure, invalidArgument } from "../failure.ts";
import type { World } from "../world.ts";

/** The values that count where a call says nothing. */
export interface MethodDefaults {
  readonly dbPath?: string;
  readonly schedulerPrefix?: string;
  readonly schedulerBin?: string;
  readonly target?: string;
}

/** The input of a method beside its parameters. */
export interface MethodContext {
  readonly world: World;
  readonly defaults: MethodDefaults;
}

/** Every result has `ok`. */
export type Method = (
  params: JsonRecord,
  context: MethodContext,
) => JsonRecord | Failure | Promise<JsonRecord | Failure>;

/** The manifest of a call, which must be there. */
export function hasManifest(params: JsonRecord): boolean {
  return params["manifest"] !== undefined && params["manifest"] !== null;
}

/** Undefined where it is not given; an empty text is not given. */
export function textOf(params: JsonRecord, name: string): string | undefined | Failure {
  const value = params[name];
  if (value === undefined || value === null || value === "") return undefined;
  return typeof value === "string" ? value : invalidArgument(`${name} must be a string`);
}

/** A text that must be there. */
export function requiredText(params: JsonRecord, name: string): string | Failure {
  const value = textOf(params, name);
  return value ?? invalidArgument(`${name} is required`);
}

/** False unless it is given. */
export function flagOf(params: JsonRecord, name: string): boolean | Failure {
  const value = params[name];
  if (value === undefined || value === null) return false;
  return typeof value === "boolean" ? value : invalidArgument(`${name} must be a boolean`);
}
