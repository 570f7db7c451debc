/**
 * The schemas of contracts, which callers wrote and which were checked when they were proposed. What
 * is needed to check a value is prepared at the first one, and kept for those that were used last;
 * contracts that agree on the same schema share it, as those of one recipe do.   AGTP-API §10.5, §13.2
 */
import { LRUCache } from "lru-cache";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { type MeteredCheck, prepareMeteredCheck } from "../../schema/metered-schema.ts";
import type { CompiledSchema } from "../../schema/schema.ts";

/** The schemas of one daemon's contracts. */
export interface ContractSchemas {
  /** A schema that was checked before. */
  compile(schema: JsonSchema): CompiledSchema;
}

/** A byte of a schema takes up to fifty when it is prepared, and a pattern what it remembers. */
const MAX_WEIGHT = 4_194_304;
const PATTERN_WEIGHT = 4096;

/** Creates them; only so many are kept prepared. */
export function createContractSchemas(maxPrepared = 1024): ContractSchemas {
  const prepared = new LRUCache<string, MeteredCheck>({
    max: maxPrepared,
    maxSize: MAX_WEIGHT,
    sizeCalculation: (_check, text) => weightOf(text),
  });
  return {
    compile: (schema) => {
      const text = JSON.stringify(schema);
      return {
        schema,
        check(value) {
          const known = prepared.get(text);
          const check = known ?? prepareMeteredCheck(schema);
          if (known === undefined) prepared.set(text, check);
          return check(value);
        },
      };
    },
  };
}

function weightOf(text: string): number {
  return text.length + PATTERN_WEIGHT * (text.split('"pattern').length - 1);
}
