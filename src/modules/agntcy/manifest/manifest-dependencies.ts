/**
 * Reads the other agents that an agent needs, and the variables that it reads from its environment.
 * Agent Manifest "Agent Dependencies"
 */
import { quoteValue } from "../../../base/json-value.ts";
import type { Dependency, EnvironmentValues, EnvironmentVariable } from "./manifest.ts";
import type { MemberReader } from "./member-reader.ts";

/** How many agents one agent may need, and how many variables. */
export const MAX_DEPENDENCIES = 64;
const MAX_VARIABLES = 256;
const MAX_VALUE_DEPTH = 8;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,255}$/;

/** The dependencies; in the oldest shape each is a reference itself. */
export function readDependencies(
  written: readonly MemberReader[],
  isBareReference: boolean,
): readonly Dependency[] {
  const dependencies: Dependency[] = [];
  for (const one of written) {
    const dependency = readDependency(one, isBareReference);
    if (dependency === undefined) continue;
    if (dependencies.some(({ name }) => name === dependency.name)) {
      one.fail("name", `${quoteValue(dependency.name)} is the name of another dependency`);
    } else dependencies.push(dependency);
  }
  return dependencies;
}

function readDependency(written: MemberReader, isBare: boolean): Dependency | undefined {
  const name = written.text("name");
  const isReference = isBare && !written.has("ref");
  const ref = isReference ? written : written.object("ref");
  const refName = isReference ? name : ref?.text("name");
  const version = ref?.text("version");
  const url = ref?.optionalText(["url", "locator"]);
  const option = written.optionalText("deployment_option");
  const values = readValues(written.optionalObject("env_var_values"), 0);
  if (name === undefined || refName === undefined || version === undefined) return undefined;
  return {
    name,
    ref: { name: refName, version, ...(url === undefined ? {} : { url }) },
    ...(option === undefined ? {} : { option }),
    values,
    pointer: written.pointer,
  };
}

function readValues(written: MemberReader | undefined, depth: number): EnvironmentValues {
  if (written === undefined) return { values: {}, dependencies: {} };
  const below = written.objects(["env_deps", "dependencies"], MAX_DEPENDENCIES);
  if (depth >= MAX_VALUE_DEPTH && below.length > 0) {
    written.fail("env_deps", `is nested deeper than ${MAX_VALUE_DEPTH} levels`);
    return { values: written.texts("values"), dependencies: {} };
  }
  const dependencies = below.flatMap((one): (readonly [string, EnvironmentValues])[] => {
    const name = one.text("name");
    return name === undefined ? [] : [[name, readValues(one, depth + 1)]];
  });
  return { values: written.texts("values"), dependencies: Object.fromEntries(dependencies) };
}

/** The variables that the agent reads. */
export function readVariables(deployment: MemberReader): readonly EnvironmentVariable[] {
  return deployment.objects("env_vars", MAX_VARIABLES).flatMap((one) => {
    const name = one.text("name");
    one.optionalText("desc");
    const isRequired = one.flag("required");
    const { value } = one.find(["defaultValue", "default_value"]);
    if (value !== undefined && typeof value !== "string") {
      one.fail(["defaultValue", "default_value"], `is ${quoteValue(value)}, expected a text`);
    }
    if (name === undefined) return [];
    if (!VARIABLE.test(name)) {
      one.fail("name", `is ${quoteValue(name)}, expected the name of an environment variable`);
      return [];
    }
    return [{ name, isRequired, ...(typeof value === "string" ? { defaultValue: value } : {}) }];
  });
}
