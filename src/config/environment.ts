/**
 * Replaces `${VAR}` in the strings of a configuration by variables of the environment. What was
 * put in is not looked at again, so a variable's value may itself contain `${`.
 */
import { appendIndex, appendKey } from "./dotted-key.ts";

/** Variables by name, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The tree with everything replaced, and each place where that was not possible. */
export interface Expansion {
  readonly value: unknown;
  readonly faults: readonly { readonly key: string; readonly message: string }[];
}

const PLACEHOLDER = /\$\{([^}]*)\}/g;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** No meaningful setting is longer; without a bound, one large variable could be put in often. */
const MAX_LENGTH = 65_536;
/** Dotted TOML keys nest without brackets, so the parser's own bound on depth does not see them. */
const MAX_DEPTH = 16;

type Report = (key: string, message: string) => void;

/** Builds a new tree; keys, numbers and booleans stay as they are. */
export function expandEnvironment(tree: unknown, environment: Environment): Expansion {
  const faults: { key: string; message: string }[] = [];
  const report: Report = (key, message) => {
    faults.push({ key, message });
  };
  const expand = (value: unknown, key: string, depth: number): unknown => {
    if (typeof value === "string") return expandText(value, key, environment, report);
    if (typeof value !== "object" || value === null) return value;
    if (value instanceof Date) {
      report(key, "must not be a date");
      return undefined;
    }
    if (depth > MAX_DEPTH) {
      report(key, `must not be nested deeper than ${MAX_DEPTH} levels`);
      return undefined;
    }
    if (Array.isArray(value)) {
      return value.map((item, index) => expand(item, appendIndex(key, index), depth + 1));
    }
    const members = Object.entries(value);
    return Object.fromEntries(
      members.map(([name, member]) => [name, expand(member, appendKey(key, name), depth + 1)]),
    );
  };
  return { value: expand(tree, "", 0), faults };
}

function expandText(text: string, key: string, environment: Environment, report: Report): string {
  if (!text.includes("${")) return text;
  let length = text.length;
  const expanded = text.replace(PLACEHOLDER, (placeholder, name: string) => {
    if (!NAME.test(name)) {
      report(key, `"${placeholder}" does not name an environment variable`);
      return "";
    }
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    if (value === undefined) {
      report(key, `environment variable "${name}" is not set`);
      return "";
    }
    length += value.length;
    return length > MAX_LENGTH ? "" : value;
  });
  if (length > MAX_LENGTH) report(key, `must be at most ${MAX_LENGTH} characters long`);
  return expanded;
}
