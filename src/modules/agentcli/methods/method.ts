/** A method of the protocol: parameters in, a result or a failure out. */
import type { JsonRecord } from "../../../base/json-value.ts";
import type { Failure } from "../failure.ts";
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
