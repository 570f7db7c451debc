/**
 * Replaces `${VAR}` in a text that an operator wrote, once, at load. What is put in is not looked
 * at again, so a variable may itself hold `${`. Messages never hold a value: values are secrets.
 * AGTP-API §12.3
 */
import { quoteValue } from "./json-value.ts";

/** Variables by name, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The text with its variables put in, or everything that kept one from being put in. */
export type Substitution =
  | { readonly text: string; readonly faults?: undefined }
  | { readonly text?: undefined; readonly faults: readonly string[] };

/** One that is never closed is found as well; neither form can make the search backtrack. */
const PLACEHOLDER = /\$\{([^{}]*)\}?/g;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** No meaningful setting is longer; without a bound, one large variable could be put in often. */
const MAX_LENGTH = 65_536;
/** One text may have as many placeholders as a file has room for. */
const MAX_FAULTS = 20;

/** Replaces every placeholder of a text. */
export function substituteVariables(text: string, environment: Environment): Substitution {
  if (!text.includes("${")) return { text };
  const faults: string[] = [];
  let length = text.length;
  const replaced = text.replace(PLACEHOLDER, (placeholder, name: string) => {
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    if (!placeholder.endsWith("}")) {
      // Not quoted: what follows may be part of a secret.
      faults.push('has a "${" that is never closed');
    } else if (!NAME.test(name)) {
      faults.push(`${quoteValue(placeholder)} names no environment variable`);
    } else if (value === undefined) {
      faults.push(`the environment variable ${name} is not set`);
    }
    length += value?.length ?? 0;
    return length > MAX_LENGTH ? "" : (value ?? "");
  });
  if (length > MAX_LENGTH) faults.push(`must be at most ${MAX_LENGTH} characters long`);
  return faults.length === 0 ? { text: replaced } : { faults: faults.slice(0, MAX_FAULTS) };
}
