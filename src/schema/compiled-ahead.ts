/**
 * Thorough validators of the protocol's own schemas in the built program, where
 * tools/compile-schemas.ts replaces this module by their code. The sources have none.
 */
import type { ValidateFunction } from "ajv/dist/2020.js";
import type { JsonSchema } from "./json-schema.ts";

/** Factories of validators, by the text of the schema. */
export const compiledAhead: ReadonlyMap<string, (schema: JsonSchema) => ValidateFunction> =
  new Map();
