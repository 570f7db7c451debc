/** Generates the code that checks values by a schema: as they are needed, and when the program is built. */
import { _ } from "ajv";
import { Ajv2020, type Options } from "ajv/dist/2020.js";
import { FORMATS, KEYWORDS } from "./keywords-and-formats.ts";
import { textPattern } from "./text-pattern.ts";

type CodeOptions = NonNullable<Options["code"]>;

/** Finds a generator for the text of a schema; `code` says what is made of it. */
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

/** The names of members that every object of parsed JSON inherits, as they stand in the text of a schema. */
const INHERITED_NAMES: readonly string[] = Object.getOwnPropertyNames(Object.prototype).map(
  (name) => `"${name}"`,
);

/** The properties in which generators differ. */
interface GeneratorOptions {
  readonly isThorough: boolean;
  readonly looksForOwn: boolean;
}

/** Everything that strict mode would refuse, `checkSchema` has refused with a better message. */
function createGenerator(
  { isThorough, looksForOwn }: GeneratorOptions,
  code: CodeOptions,
): Ajv2020 {
  const generator = new Ajv2020({
    allErrors: isThorough,
    strict: false,
    // 1e999 is JSON, and no number that anybody could store or send on.
    strictNumbers: true,
    meta: false,
    validateSchema: false,
    logger: false,
    // Otherwise a required "constructor" is there already, inherited. What a thorough one gives the verdict on is
    // parsed JSON, which inherits little: to look for its own members takes a third of a check.
    ownProperties: looksForOwn,
    // V8 has an optimizer anyway.
    code: { optimize: false, regExp: textPattern, formats: _`formats`, ...code },
  });
  // Tracking which members were looked at costs time; what needs it is interpreted.
  generator.opts.unevaluated = false;
  for (const definition of KEYWORDS) {
    generator.removeKeyword(definition.keyword).addKeyword(definition);
  }
  for (const [name, format] of FORMATS) generator.addFormat(name, format);
  return generator;
}
