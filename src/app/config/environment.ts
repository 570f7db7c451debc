/** The variables of a deployment, and how they come into the strings of its configuration. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { readBoundedFile } from "../../base/bounded-file.ts";
import { joinIndex, joinKey } from "../../base/dotted-key.ts";
import { type Environment, substituteVariables } from "../../base/environment.ts";
import type { Problem } from "../../base/problem.ts";

/** The tree with everything replaced, and each place where that was not possible. */
interface Expansion {
  readonly value: unknown;
  readonly faults: readonly { readonly key: string; readonly message: string }[];
}

/** Dotted TOML keys nest without brackets, so the parser's own bound on depth does not see them. */
const MAX_DEPTH = 16;

/**
 * Puts variables into strings, wherever they stand; keys, numbers and booleans stay as they are. Builds
 * a new tree; a value that cannot be had is a fault, and has no place in it.
 */
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

/** The file beside the configuration; what is in the environment wins. A reload reads it anew. */
export const ENV_FILE = ".env";

interface DeploymentEnvironment {
  readonly environment: Environment;
  readonly problems: readonly Problem[];
}

const MAX_BYTES = 256 * 1024;

/** The environment with the variables of a deployment's file, if it has one. */
export function environmentAt(directory: string, environment: Environment): DeploymentEnvironment {
  const path = join(directory, ENV_FILE);
  if (!existsSync(path)) return { environment, problems: [] };
  const { text, fault } = readBoundedFile(path, MAX_BYTES);
  if (text === undefined) {
    return { environment, problems: [{ file: ENV_FILE, key: "", message: fault }] };
  }
  return { environment: { ...parseEnv(text), ...environment }, problems: [] };
}
