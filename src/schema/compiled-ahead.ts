/**
 * Thorough validators of the protocol's own schemas, in the built program: tools/compile-schemas.ts puts their code
 * in the place of this module. There are none among the sources.
 */
import type { ValidateFunction } from "ajv/dist/2020.js";
import type { JsonSchema } from "./json-schema.ts";

/** By the text of its schema, what makes the validator. */
export const compiledAhead: ReadonlyMap<string, (schema: JsonSchema) => ValidateFunction> =
  new Map();
