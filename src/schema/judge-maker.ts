/** The interface by which keywords become judges. */
import type { JsonSchema } from "./json-schema.ts";
import type { Judge } from "./judgement.ts";
import type { LinearRegex } from "./linear-regex.ts";

/** The parts that a keyword may need besides its own value. */
export interface JudgeSurroundings {
  /** The schema that the keyword stands in. */
  readonly schema: JsonSchema;
  judgeOf(schema: unknown): Judge;
  /** The schema that a local reference leads to. */
  resolve(reference: string): unknown;
  regexOf(pattern: string): LinearRegex;
}

/** Makes the judge of a keyword from its value; undefined: it refuses nothing. */
export type JudgeMaker = (value: unknown, surroundings: JudgeSurroundings) => Judge | undefined;
