/**
 * Puts variables of the environment into the strings of a configuration, wherever they stand in it.
 * Keys, numbers and booleans stay as they are.
 */
import { joinIndex, joinKey } from "../../base/dotted-key.ts";
import { type Environment, substituteVariables } from "../../base/environment.ts";

/** The tree with everything replaced, and each place where that was not possible. */
export interface Expansion {
  readonly value: unknown;
  readonly faults: readonly { readonly key: string; readonly message: string }[];
}

/** Dotted TOML keys nest without brackets, so the parser's own bound on depth does not see them. */
const MAX_DEPTH = 16;

/** Builds a new tree; a value that cannot be had is a fault, and has no place in it. */
export function expandEnvironment(tree: unknown, environment: Environment): Expansion {
  const faults: { key: string; message: string }[] = [];
  const report = (key: string, message: string): undefined => {
    faults.push({ key, message });
  };
  const expand = (value: unknown, key: string, depth: number): unknown => {
    if (typeof value === "string") {
      const substitution = substituteVariables(value, environment);
      for (const fault of substitution.faults ?? []) report(key, fault);
      return substitution.text ?? "";
    }
    if (typeof value !== "object" || value === null) return value;
    if (value instanceof Date) return report(key, "must not be a date");
    if (depth > MAX_DEPTH) return report(key, `must not be nested deeper than ${MAX_DEPTH} levels`);
    if (Array.isArray(value)) {
      return value.map((item, index) => expand(item, joinIndex(key, index), depth + 1));
    }
    const members = Object.entries(value);
    return Object.fromEntries(
      members.map(([name, member]) => [name, expand(member, joinKey(key, name), depth + 1)]),
    );
  };
  return { value: expand(tree, "", 0), faults };
}
