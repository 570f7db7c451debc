/** Places in a schema, and what is wrong at one of them. */
import { escapeToken, joinKey } from "../base/dotted-key.ts";

/** A place in a schema; "" is the schema itself. */
export interface SchemaPlace {
  /** Dotted key, as messages about files have it. */
  readonly key: string;
  /** JSON Pointer, as messages about bodies have it. */
  readonly pointer: string;
}

/** The fault of a schema, and where. */
export interface SchemaFault extends SchemaPlace {
  readonly message: string;
  readonly hint?: string;
}

/** Tells of something that is wrong. */
export type ReportFault = (at: SchemaPlace, message: string, hint?: string) => void;

/** The place of a member. */
export function below({ key, pointer }: SchemaPlace, name: string): SchemaPlace {
  return { key: joinKey(key, name), pointer: `${pointer}/${escapeToken(name)}` };
}
