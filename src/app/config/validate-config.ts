/**
 * Checks a configuration in the built program, where tools/compile-schemas.ts replaces this module
 * by generated code. The sources have none.
 */
import type { ValidateFunction } from "ajv/dist/2020.js";

export const validateConfig: ValidateFunction | undefined = undefined;
