/** A schema that was found to be one, whichever judge it has.   AGTP-API §13.2 */
import type { JsonSchema } from "./json-schema.ts";
import type { SchemaViolation, SentNames } from "./schema-violation.ts";

/** A schema that values can be checked against. */
export interface CompiledSchema {
  readonly schema: JsonSchema;
  /**
   * Undefined: the value is valid. At most twenty violations. `isSmall` promises fewer than 5,000
   * members and items in all. Members may have been renamed: `sent` knows how they were called.
   */
  check(
    value: unknown,
    isSmall?: boolean,
    sent?: SentNames,
  ): readonly SchemaViolation[] | undefined;
}
