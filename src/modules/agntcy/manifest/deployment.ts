/**
 * Reads how an agent can be had: the named deployment options (a running service, source code or a container image),
 * the agents that it depends on, and its environment variables.   Agent Manifest "Agent Deployment and Consumption",
 * "Agent Dependencies"
 */
import type { DocumentPlace } from "../../../base/document-place.ts";
import { describeValue, isRecord, quoteValue } from "../../../base/json-value.ts";
import { parseUrl } from "../../../base/url-text.ts";
import {
  type Dependency,
  type DeploymentOption,
  type EnvironmentValues,
  type EnvironmentVariable,
  MAX_TEXT_LENGTH,
  type RemoteService,
} from "./manifest.ts";

const TYPES = ["remote_service", "source_code", "docker"] as const;
const FRAMEWORKS: ReadonlyMap<string, string> = new Map([
  ["langgraph", "graph"],
  ["llamaindex", "path"],
]);
/** Agent ids become part of a URL. */
const AGENT_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** Reads the options, leaving out those with a problem. */
export function readOptions(written: readonly DocumentPlace[]): readonly DeploymentOption[] {
  const options: DeploymentOption[] = [];
  for (const one of written) {
    const option = readOption(one);
    if (option === undefined) continue;
    const { name } = option;
    if (name !== undefined && options.some((earlier) => earlier.name === name)) {
      one.at("name").fail(`${quoteValue(name)} is the name of another option`);
    } else options.push(option);
  }
  return options;
}

function readOption(written: DocumentPlace): DeploymentOption | undefined {
  const type = written.at("type").word(TYPES);
  const name = written.at("name").optional?.text();
  const named = name === undefined ? {} : { name };
  switch (type) {
    case undefined:
      return undefined;
    case "remote_service": {
      const protocol = written.at("protocol").record();
      const service = protocol && readProtocol(protocol);
      return service && { type, ...named, ...service };
    }
    case "source_code":
      return readSourceCode(written) ? { type, ...named } : undefined;
    case "docker": {
      // The published schema requires `protocol` here without defining it.
      const protocol = written.at("protocol").optional?.record();
      if (protocol?.has("url") === true) readProtocol(protocol);
      return written.at("image").text() === undefined ? undefined : { type, ...named };
    }
  }
}

function readProtocol(protocol: DocumentPlace): RemoteService | undefined {
  const type = protocol.at("type").word(["ACP"]);
  const url = protocol.at("url").text();
  if (url !== undefined && parseUrl(url) === undefined) {
    return protocol.at("url").fail(`is ${quoteValue(url)}, expected an absolute URL`);
  }
  const agentId = protocol.at("agent_id").optional?.text();
  if (agentId !== undefined && !AGENT_ID.test(agentId)) {
    return protocol.at("agent_id").fail(`is ${quoteValue(agentId)}, expected the id of an agent`);
  }
  const { value: scheme } = protocol.at("authentication");
  if (scheme !== undefined) protocol.at("authentication").record();
  if (type === undefined || url === undefined) return undefined;
  return {
    url,
    ...(agentId === undefined ? {} : { agentId }),
    ...(isRecord(scheme) ? { authentication: scheme } : {}),
  };
}

/** Tells whether a source code option is complete. */
function readSourceCode(written: DocumentPlace): boolean {
  const url = written.at("url").text();
  const config = written.at("framework_config").record();
  const framework = config?.at("framework_type").text();
  if (url === undefined || config === undefined || framework === undefined) return false;
  const entry = FRAMEWORKS.get(framework);
  if (entry !== undefined) return config.at(entry).text() !== undefined;
  const known = [...FRAMEWORKS.keys()].join(" and ");
  const message = `${quoteValue(framework)} is not a framework that the manifest defines`;
  config.at("framework_type").warn(message, `known are ${known}`);
  return true;
}

/** The maximum number of dependencies, and of variables. */
export const MAX_DEPENDENCIES = 64;
const MAX_VARIABLES = 256;
const MAX_VALUE_DEPTH = 8;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,255}$/;

/** Reads the dependencies; in the oldest shape each is a bare reference. */
export function readDependencies(
  written: readonly DocumentPlace[],
  isBareReference: boolean,
): readonly Dependency[] {
  const dependencies: Dependency[] = [];
  for (const one of written) {
    const dependency = readDependency(one, isBareReference);
    if (dependency === undefined) continue;
    if (dependencies.some(({ name }) => name === dependency.name)) {
      one.at("name").fail(`${quoteValue(dependency.name)} is the name of another dependency`);
    } else dependencies.push(dependency);
  }
  return dependencies;
}

function readDependency(written: DocumentPlace, isBare: boolean): Dependency | undefined {
  const name = written.at("name").text();
  const isReference = isBare && !written.has("ref");
  const ref = isReference ? written : written.at("ref").record();
  const refName = isReference ? name : ref?.at("name").text();
  const version = ref?.at("version").text();
  const url = ref?.at(["url", "locator"]).optional?.text();
  const option = written.at("deployment_option").optional?.text();
  const values = readValues(written.at("env_var_values").optional?.record(), 0);
  if (name === undefined || refName === undefined || version === undefined) return undefined;
  return {
    name,
    ref: { name: refName, version, ...(url === undefined ? {} : { url }) },
    ...(option === undefined ? {} : { option }),
    values,
    pointer: written.key,
  };
}

function readValues(written: DocumentPlace | undefined, depth: number): EnvironmentValues {
  if (written === undefined) return { values: {}, dependencies: {} };
  const below = written.at(["env_deps", "dependencies"]).records({ most: MAX_DEPENDENCIES });
  if (depth >= MAX_VALUE_DEPTH && below.length > 0) {
    written.at("env_deps").fail(`is nested deeper than ${MAX_VALUE_DEPTH} levels`);
    return { values: readTexts(written.at("values")), dependencies: {} };
  }
  const dependencies = below.flatMap((one): (readonly [string, EnvironmentValues])[] => {
    const name = one.at("name").text();
    return name === undefined ? [] : [[name, readValues(one, depth + 1)]];
  });
  return {
    values: readTexts(written.at("values")),
    dependencies: Object.fromEntries(dependencies),
  };
}

function readTexts(written: DocumentPlace): Readonly<Record<string, string>> {
  const record = written.optional?.record();
  const entries = (record?.names ?? []).flatMap((name): (readonly [string, string])[] => {
    const place = written.at(name);
    const { value } = place;
    if (typeof value === "string" && value.length <= MAX_TEXT_LENGTH) return [[name, value]];
    place.fail(`${describeValue(value)}, expected a text`);
    return [];
  });
  return Object.fromEntries(entries);
}

/** Reads the environment variables of the agent. */
export function readVariables(deployment: DocumentPlace): readonly EnvironmentVariable[] {
  return deployment
    .at("env_vars")
    .records({ most: MAX_VARIABLES })
    .flatMap((one) => {
      const name = one.at("name").text();
      one.at("desc").optional?.text();
      const isRequired = one.at("required").optional?.flag() ?? false;
      const { value } = one.at(["defaultValue", "default_value"]);
      if (value !== undefined && typeof value !== "string") {
        one.at(["defaultValue", "default_value"]).fail(`is ${quoteValue(value)}, expected a text`);
      }
      if (name === undefined) return [];
      if (!VARIABLE.test(name)) {
        one.at("name").fail(`is ${quoteValue(name)}, expected the name of an environment variable`);
        return [];
      }
      return [{ name, isRequired, ...(typeof value === "string" ? { defaultValue: value } : {}) }];
    });
}
