/**
 * Replaces `${VAR}` in a text that an operator wrote, once, at load; `${VAR:-text}` stands for the text where
 * the variable is not set or empty, and `$${` is a literal `${`. What is put in is not looked at again, so a
 * variable may itself hold `${`. Messages never hold a value: values are secrets. A program that writes
 * configuration from somebody else's text escapes it here, so that a document cannot ask for the operator's
 * environment.   AGTP-API §12.3
 */
import { isRecord, quoteValue } from "./json-value.ts";

const NOT_SET = "is not set";

/** Tells whether a fault of a substitution is that of a variable without a value. */
export function isUnset(fault: string): boolean {
  return fault.endsWith(NOT_SET);
}

/** The way out for a fault of a substitution, where there is one. */
export function remedyOf(fault: string): { readonly hint?: string } {
  if (!isUnset(fault)) return {};
  return { hint: "set it where the daemon is started, or in .env beside the configuration" };
}

/** Variables by name, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The text with its variables put in, or everything that kept one from being put in. */
type Substitution =
  | { readonly text: string; readonly faults?: undefined }
  | { readonly text?: undefined; readonly faults: readonly string[] };

/** An escape, or a placeholder; one that is never closed is found as well. Neither can backtrack. */
const PLACEHOLDER = /\$\$\{|\$\{([^{}]*)\}?/g;
const ESCAPE = "$${";
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Between a name and what stands for a variable that is not set. */
const OTHERWISE = ":-";
/** No meaningful setting is longer; without a bound, one large variable could be put in often. */
const MAX_LENGTH = 65_536;
/** One text may have as many placeholders as a file has room for. */
const MAX_FAULTS = 20;

/** Replaces every placeholder of a text. */
export function substituteVariables(text: string, environment: Environment): Substitution {
  if (!text.includes("${")) return { text };
  const faults: string[] = [];
  let length = text.length;
  const replaced = text.replace(PLACEHOLDER, (placeholder: string, inside = "") => {
    if (placeholder === ESCAPE) return "${";
    const { name, otherwise } = readPlaceholder(inside);
    const found = Object.hasOwn(environment, name) ? environment[name] : undefined;
    // As in a shell, what is empty is not set either.
    const value = otherwise === undefined ? found : found || otherwise;
    if (!placeholder.endsWith("}")) {
      // Not quoted: what follows may be part of a secret.
      faults.push('has a "${" that is never closed');
    } else if (!NAME.test(name)) {
      faults.push(`${quoteValue(placeholder)} names no environment variable`);
    } else if (value === undefined) {
      faults.push(`the environment variable ${name} ${NOT_SET}`);
    }
    length += value?.length ?? 0;
    return length > MAX_LENGTH ? "" : (value ?? "");
  });
  if (length > MAX_LENGTH) faults.push(`must be at most ${MAX_LENGTH} characters long`);
  return faults.length === 0 ? { text: replaced } : { faults: faults.slice(0, MAX_FAULTS) };
}

/** The names of the variables that a text cannot do without, as often as it asks for them. */
export function variablesIn(text: string): readonly string[] {
  return Array.from(text.matchAll(PLACEHOLDER), ([, inside = ""]) => readPlaceholder(inside))
    .filter(({ name, otherwise }) => NAME.test(name) && otherwise === undefined)
    .map(({ name }) => name);
}

function readPlaceholder(inside: string): { readonly name: string; readonly otherwise?: string } {
  const at = inside.indexOf(OTHERWISE);
  if (at === -1) return { name: inside };
  return { name: inside.slice(0, at), otherwise: inside.slice(at + OTHERWISE.length) };
}

/** A placeholder: the one way for a program to have a variable put in. */
export function variableReference(name: string): string {
  return `\${${name}}`;
}

/**
 * The name of a variable that an import invents, out of words of what is imported. Nothing else in
 * an environment begins like it, so that no document can name a variable that is there already.
 */
export function importedVariable(words: string): string {
  return `IMPORT_${words.toUpperCase().replace(/[^A-Z0-9]+/g, "_")}`;
}

/** Somebody else's text as configuration has to hold it to mean that text, and nothing more. */
export function literalText(text: string): string {
  return text.replaceAll("${", () => ESCAPE);
}

/** Escapes every text of a value; names of members are literal as they are. */
export function literalValue<T>(value: T): T {
  return escapeTexts(value) as T;
}

function escapeTexts(value: unknown): unknown {
  if (typeof value === "string") return literalText(value);
  if (Array.isArray(value)) return value.map(escapeTexts);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, escapeTexts(member)]),
  );
}
