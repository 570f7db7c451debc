/** A schema that passed its check, however it is enforced.   AGTP-API §13.2 */
import type { JsonSchema } from "./json-schema.ts";
import type { SchemaViolation, SentNames } from "./schema-violation.ts";

/** A schema to check values against. */
export interface CompiledSchema {
  readonly schema: JsonSchema;
  /**
   * Returns at most twenty violations; undefined for a valid value. `isSmall` promises fewer than
   * 5,000 members and items in all. `sent` knows the original names of renamed members.
   */
  check(
    value: unknown,
    isSmall?: boolean,
    sent?: SentNames,
  ): readonly SchemaViolation[] | undefined;
}
