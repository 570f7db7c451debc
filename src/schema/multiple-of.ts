/**
 * `multipleOf`, as the decimals that were written mean it: 19.99 is a multiple of 0.01, although
 * the quotient of the two floating-point numbers is not whole. The validator's own keyword divides.
 */
import { _, type FuncKeywordDefinition, str } from "ajv";

/** The keyword, to be added in place of the validator's own. */
export const MULTIPLE_OF: FuncKeywordDefinition & { readonly keyword: string } = {
  keyword: "multipleOf",
  type: "number",
  schemaType: "number",
  errors: false,
  error: {
    message: ({ schemaCode }) => str`must be multiple of ${schemaCode}`,
    params: ({ schemaCode }) => _`{multipleOf: ${schemaCode}}`,
  },
  compile: (factor: number) => (value: number) => isMultipleOf(value, factor),
};

/** Value, factor and their product are each off by half of this at most, relatively. */
const TOLERANCE = 2 * Number.EPSILON;

/** Tells whether a value is a whole number of times the factor, which is above 0. */
export function isMultipleOf(value: number, factor: number): boolean {
  // Of whole numbers the remainder is exact.
  if (Number.isInteger(value) && Number.isInteger(factor)) return value % factor === 0;
  const times = Math.round(value / factor);
  return Math.abs(times * factor - value) <= TOLERANCE * Math.abs(value);
}
