/** Generates the code that checks values against a schema, at run time and at build time. */
import { _ } from "ajv";
import { Ajv2020, type Options } from "ajv/dist/2020.js";
import { FORMATS, KEYWORDS } from "./keywords-and-formats.ts";
import { textPattern } from "./text-pattern.ts";

type CodeOptions = NonNullable<Options["code"]>;

/** Returns a generator for the text of a schema; `code` sets its code generation. */
export function createGenerators(
  code: CodeOptions = {},
): (text: string, isThorough: boolean) => Ajv2020 {
  const generators = new Map<string, Ajv2020>();
  return (text, isThorough) => {
    const looksForOwn = !isThorough || INHERITED_NAMES.some((name) => text.includes(name));
    const name = `${isThorough} ${looksForOwn}`;
    const generator = generators.get(name) ?? createGenerator({ isThorough, looksForOwn }, code);
    generators.set(name, generator);
    return generator;
  };
}

/** Member names that every object of parsed JSON inherits, as quoted in the text of a schema. */
const INHERITED_NAMES: readonly string[] = Object.getOwnPropertyNames(Object.prototype).map(
  (name) => `"${name}"`,
);

/** The properties in which generators differ. */
interface GeneratorOptions {
  readonly isThorough: boolean;
  readonly looksForOwn: boolean;
}

/** Creates a generator; `checkSchema` has refused what strict mode would, with better messages. */
function createGenerator(
  { isThorough, looksForOwn }: GeneratorOptions,
  code: CodeOptions,
): Ajv2020 {
  const generator = new Ajv2020({
    allErrors: isThorough,
    strict: false,
    // 1e999 is valid JSON, but becomes a number that cannot be stored or sent on.
    strictNumbers: true,
    meta: false,
    validateSchema: false,
    logger: false,
    // Otherwise an inherited "constructor" would satisfy `required`. A thorough validator's verdict
    // is on parsed JSON, which inherits little, and looking for own members takes a third of a
    // check.
    ownProperties: looksForOwn,
    // V8 optimizes anyway.
    code: { optimize: false, regExp: textPattern, formats: _`formats`, ...code },
  });
  // Tracking evaluated members costs time, so schemas that need it are interpreted instead.
  generator.opts.unevaluated = false;
  for (const definition of KEYWORDS) {
    generator.removeKeyword(definition.keyword).addKeyword(definition);
  }
  for (const [name, format] of FORMATS) generator.addFormat(name, format);
  return generator;
}
