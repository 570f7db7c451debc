/**
 * Which variables that an agent requires nobody has set: neither the manifest that depends on it, nor
 * the environment under the variable's own name or with the agent's name before it, nor a default.
 */
import type { Environment } from "../../../base/environment.ts";
import type { EnvironmentVariable } from "../manifest/manifest.ts";
import { variablePrefix } from "../upstream-access.ts";

/** The names of the variables that are missing. */
export function unsetVariables(
  variables: readonly EnvironmentVariable[],
  agentNames: readonly string[],
  values: Readonly<Record<string, string>>,
  env: Environment,
): readonly string[] {
  const isSet = (from: Environment, name: string): boolean =>
    Object.hasOwn(from, name) && from[name] !== undefined && from[name] !== "";
  return variables
    .filter(({ isRequired, defaultValue = "" }) => isRequired && defaultValue === "")
    .map(({ name }) => name)
    .filter((name) => !isSet(values, name) && !isSet(env, name))
    .filter((name) => !agentNames.some((agent) => isSet(env, variablePrefix(agent) + name)));
}
