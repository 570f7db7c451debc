/**
 * Checks a configuration, in the built program: tools/compile-schemas.ts puts the code for it in the place of
 * this module. There is none among the sources.
 */
import type { ValidateFunction } from "ajv/dist/2020.js";

export const validateConfig: ValidateFunction | undefined = undefined;
