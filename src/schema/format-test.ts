/** Formats as tests of values, whichever way their definition is written.   JSON Schema 2020-12 §7 */
import type { Format } from "ajv";

/** The verdict of a format on a value; of values of another type it says nothing. */
export function compileFormatTest(format: Format): ((value: unknown) => boolean) | undefined {
  if (typeof format === "boolean") return undefined;
  const isDefined = typeof format === "object" && "validate" in format;
  const type = (isDefined ? format.type : undefined) ?? "string";
  const test: unknown = isDefined ? format.validate : format;
  if (typeof test === "function") {
    return (value) => typeof value !== type || Boolean(Reflect.apply(test, undefined, [value]));
  }
  const regex = new RegExp(test instanceof RegExp ? test : String(test));
  return (value) => typeof value !== "string" || regex.test(value);
}
