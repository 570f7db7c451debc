/** A method of the protocol, from parameters to a result or a failure. */
import type { JsonRecord } from "../../../base/json-value.ts";
import { type Failure, invalidArgument } from "../failure.ts";
import type { World } from "../world.ts";

/** The defaults for omitted parameters. */
export interface MethodDefaults {
  readonly dbPath?: string;
  readonly schedulerPrefix?: string;
  readonly schedulerBin?: string;
  readonly target?: string;
}

/** The context of a call besides its parameters. */
export interface MethodContext {
  readonly world: World;
  readonly defaults: MethodDefaults;
}

/** A method; every result has `ok`. */
export type Method = (
  params: JsonRecord,
  context: MethodContext,
) => JsonRecord | Failure | Promise<JsonRecord | Failure>;

export interface NamedMethod {
  readonly summary: string;
  readonly method: Method;
}

/** Tells whether a call includes a manifest. */
export function hasManifest(params: JsonRecord): boolean {
  return params["manifest"] !== undefined && params["manifest"] !== null;
}

type ParameterKind = "text" | "required-text" | "flag";

type ReadParameters<Kinds extends Readonly<Record<string, ParameterKind>>> = {
  readonly [Name in keyof Kinds]: Kinds[Name] extends "flag"
    ? boolean
    : Kinds[Name] extends "text"
      ? string | undefined
      : string;
};

/** Reads parameters, or fails with the first fault. An empty text counts as absent; an absent flag is false. */
export function readParameters<const Kinds extends Readonly<Record<string, ParameterKind>>>(
  params: JsonRecord,
  kinds: Kinds,
): ReadParameters<Kinds> | Failure {
  const read: Record<string, unknown> = {};
  for (const [name, kind] of Object.entries(kinds)) {
    const value = params[name] ?? undefined;
    const isGiven = value !== undefined && (kind === "flag" || value !== "");
    const [type, noun] = kind === "flag" ? ["boolean", "a boolean"] : ["string", "a string"];
    if (isGiven && typeof value !== type) return invalidArgument(`${name} must be ${noun}`);
    if (!isGiven && kind === "required-text") return invalidArgument(`${name} is required`);
    read[name] = isGiven ? value : kind === "flag" ? false : undefined;
  }
  return read as ReadParameters<Kinds>;
}
