/**
 * Loads the endpoints of a deployment directory for an export: configuration, catalog and endpoint
 * files as the daemon reads them, except values of variables, which exports do not contain.
 */
import { existsSync } from "node:fs";
import { relative } from "node:path";
import type { Config } from "../../app/config/config.ts";
import { loadConfig } from "../../app/config/load.ts";
import { readDeploymentFiles } from "../../base/deployment-files.ts";
import { type Environment, variablesIn } from "../../base/environment.ts";
import { isError, type Problem } from "../../base/problem.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import { loadCatalog, shippedCatalogPath } from "../../catalog/catalog-file.ts";
import { methodNames } from "../../catalog/path-grammar.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import { loadEndpoints } from "../../endpoint/load-endpoints.ts";
import { ApiListing } from "../../modules/gateway/module.ts";
import type { ExportSource } from "../../openapi/export-openapi.ts";
import { createSchemaCompiler } from "../../schema/schema.ts";
import { serverUri } from "../shell/read-config.ts";

interface LoadedSource {
  readonly source?: ExportSource;
  readonly problems: readonly Problem[];
}

/** Valid wherever the validity of an endpoint file depends on a variable. */
const STAND_IN = "https://unset.invalid/";

interface LoadedDefinitions {
  readonly catalog: Catalog;
  readonly definitions: readonly EndpointDefinition[];
  readonly problems: readonly Problem[];
}

/** Loads the endpoint files of a configuration; files with a problem are left out. */
export function loadDefinitions(
  config: Config,
  environment: Environment,
): LoadedDefinitions | { readonly catalog?: undefined; readonly problems: readonly Problem[] } {
  const path = existsSync(config.catalog.file) ? config.catalog.file : shippedCatalogPath();
  const { catalog, problems: catalogProblems } = loadCatalog(
    path,
    relative(config.directory, path),
  );
  if (catalog === undefined) return { problems: catalogProblems };
  const { custom } = config.policies.methods;
  const { endpoints, problems } = loadEndpoints({
    catalog,
    names: methodNames(catalog, custom),
    customMethods: new Set(custom),
    directory: config.directory,
    endpointsDir: config.endpoints.dir,
    env: withStandIns(config, environment),
    compiler: createSchemaCompiler(),
  });
  return { catalog, problems, definitions: endpoints.map(({ definition }) => definition) };
}

/** Loads the deployment of a configuration file. */
export function loadExportSource(configPath: string, given: Environment): LoadedSource {
  const { config, problems, environment } = loadConfig(configPath, given);
  if (config === undefined) return { problems };
  const loaded = loadDefinitions(config, environment);
  const { catalog } = loaded;
  if (catalog === undefined) return { problems: [...problems, ...loaded.problems] };
  const { aliases } = config.policies.methods;
  const seed = [...catalog.legacy].map(([verb, { preferred }]): [string, string] => [
    verb,
    preferred,
  ]);
  const { serverId, operator, documentVersion } = config.server;
  return {
    problems: [...problems, ...loaded.problems],
    source: {
      endpoints: loaded.definitions,
      ...{ serverId, catalog, operator, documentVersion },
      manifestUri: serverUri(config),
      baseUrl: config.gateway.enabled ? new ApiListing(config, () => []).baseUrl : undefined,
      aliases: new Map(aliases === undefined ? seed : Object.entries(aliases)),
      oauth: config.policies.oauth,
    },
  };
}

/** Gives unset variables a stand-in, because exports do not contain their values. */
function withStandIns(config: Config, environment: Environment): Environment {
  const { files } = readDeploymentFiles({
    directory: config.directory,
    dir: config.endpoints.dir,
    defaultDir: "endpoints",
    suffix: ".toml",
    recursive: true,
  });
  const names = files.flatMap(({ text }) => variablesIn(text));
  const unset = names.filter((name) => environment[name] === undefined);
  return { ...Object.fromEntries(unset.map((name) => [name, STAND_IN])), ...environment };
}

/** Returns true if no problem affects the export. */
export function isComplete({ source, problems }: LoadedSource): boolean {
  return source !== undefined && !problems.some(isError);
}
