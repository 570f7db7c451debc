/**
 * Replaces `${VAR}` from the environment, once, at load. A variable that is not set is a fault, and
 * so is a placeholder that names none. Messages never hold a value: values are secrets.
 * AGTP-API §12.3
 */
import { quoteValue } from "../catalog/findings.ts";

/** Variables by name, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The text with every placeholder replaced, or why that was not possible. */
export type Substitution =
  | { readonly text: string; readonly fault?: undefined }
  | { readonly text?: undefined; readonly fault: string };

const PLACEHOLDER = /\$\{([^{}]*)\}?/g;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Replaces the placeholders of a text; what they bring in is not looked at again. */
export function substituteVariables(text: string, environment: Environment): Substitution {
  if (!text.includes("${")) return { text };
  const faults: string[] = [];
  const replaced = text.replace(PLACEHOLDER, (placeholder, name: string) => {
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    if (!VARIABLE.test(name) || !placeholder.endsWith("}")) {
      faults.push(`${quoteValue(placeholder)} names no environment variable`);
    } else if (value === undefined) {
      faults.push(`the environment variable ${name} is not set`);
    }
    return value ?? "";
  });
  const [fault] = faults;
  return fault === undefined ? { text: replaced } : { fault };
}
