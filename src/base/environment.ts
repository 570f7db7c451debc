/**
 * Substitutes `${VAR}` in an operator's text, once, at load; `${VAR:-text}` is the text if the
 * variable is unset or empty, and `$${` is a literal `${`. Substituted values are not scanned
 * again, so they may contain `${`. Messages never contain values, which are secrets. A program that
 * generates configuration from a foreign text escapes it here, so that the text cannot read the
 * operator's environment.   AGTP-API §12.3
 */
import { isRecord, quoteValue } from "./json-value.ts";

const NOT_SET = "is not set";

/** Tells whether a fault is about a variable without a value. */
export function isUnset(fault: string): boolean {
  return fault.endsWith(NOT_SET);
}

/** Returns the remedy of a substitution's fault, if there is one. */
export function remedyOf(fault: string): { readonly hint?: string } {
  if (!isUnset(fault)) return {};
  return { hint: "set it where the daemon is started, or in .env beside the configuration" };
}

/** Variables by name, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The text with its variables substituted, or the faults. */
type Substitution =
  | { readonly text: string; readonly faults?: undefined }
  | { readonly text?: undefined; readonly faults: readonly string[] };

/** An escape or a placeholder, even an unclosed one. Neither alternative can backtrack. */
const PLACEHOLDER = /\$\$\{|\$\{([^{}]*)\}?/g;
const ESCAPE = "$${";
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** The separator between a name and its default. */
const OTHERWISE = ":-";
/** The maximum length, since one large variable could be substituted many times. */
const MAX_LENGTH = 65_536;
/** The maximum number of faults, since a text may have very many placeholders. */
const MAX_FAULTS = 20;

/** Substitutes every placeholder of a text. */
export function substituteVariables(text: string, environment: Environment): Substitution {
  if (!text.includes("${")) return { text };
  const faults: string[] = [];
  let length = text.length;
  const replaced = text.replace(PLACEHOLDER, (placeholder: string, inside = "") => {
    if (placeholder === ESCAPE) return "${";
    const { name, otherwise } = readPlaceholder(inside);
    const found = Object.hasOwn(environment, name) ? environment[name] : undefined;
    // As in a shell, an empty variable counts as unset.
    const value = otherwise === undefined ? found : found || otherwise;
    if (!placeholder.endsWith("}")) {
      // Not quoted, since the rest may be part of a secret.
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

/** Returns the names of the variables without a default in a text, with repetitions. */
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

/** Returns a placeholder for a variable. */
export function variableReference(name: string): string {
  return `\${${name}}`;
}

/**
 * Builds the name of a variable for an import, from words of the imported document. No other
 * variable has this prefix, so that a document cannot name an existing one.
 */
export function importedVariable(words: string): string {
  return `IMPORT_${words.toUpperCase().replace(/[^A-Z0-9]+/g, "_")}`;
}

/** Escapes a foreign text for configuration, so that it is taken literally. */
export function literalText(text: string): string {
  return text.replaceAll("${", () => ESCAPE);
}

/** Escapes every text of a value; member names are literal anyway. */
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
