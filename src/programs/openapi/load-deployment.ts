/**
 * The endpoints of a deployment directory, for an export: configuration, catalog and endpoint files
 * as the daemon reads them, but for the values of variables, which no export shows.
 */
import { existsSync } from "node:fs";
import { relative } from "node:path";
import { loadConfig } from "../../app/config/load.ts";
import type { Config } from "../../base/config.ts";
import { readDeploymentFiles } from "../../base/deployment-files.ts";
import { type Environment, variablesIn } from "../../base/environment.ts";
import { isError, type Problem } from "../../base/problem.ts";
import { loadCatalog } from "../../catalog/catalog-file.ts";
import { methodNames } from "../../catalog/path-grammar.ts";
import { shippedCatalogPath } from "../../catalog/shipped-catalog.ts";
import { loadEndpoints } from "../../endpoint/load-endpoints.ts";
import type { ExportSource } from "../../openapi/export-openapi.ts";
import { createSchemaCompiler } from "../../schema/schema.ts";

/** What to export, or why there is nothing. */
export interface LoadedSource {
  readonly source?: ExportSource;
  readonly problems: readonly Problem[];
}

/** Fits wherever an endpoint file may have a variable that matters for its being valid. */
const STAND_IN = "https://unset.invalid/";

/** Loads what a configuration file describes. */
export function loadExportSource(configPath: string, environment: Environment): LoadedSource {
  const { config, problems } = loadConfig(configPath, environment);
  if (config === undefined) return { problems };
  const path = existsSync(config.catalog.file) ? config.catalog.file : shippedCatalogPath();
  const { catalog, problems: catalogProblems } = loadCatalog(
    path,
    relative(config.directory, path),
  );
  if (catalog === undefined) return { problems: [...problems, ...catalogProblems] };
  const { custom, aliases } = config.policies.methods;
  const loaded = loadEndpoints({
    catalog,
    names: methodNames(catalog, custom),
    customMethods: new Set(custom),
    directory: config.directory,
    endpointsDir: config.endpoints.dir,
    env: withStandIns(config, environment),
    compiler: createSchemaCompiler(),
  });
  const seed = [...catalog.legacy].map(([verb, { preferred }]): [string, string] => [
    verb,
    preferred,
  ]);
  const { serverId, operator, documentVersion } = config.server;
  return {
    problems: [...problems, ...loaded.problems],
    source: {
      endpoints: loaded.endpoints.map(({ definition }) => definition),
      ...{ serverId, catalog },
      ...(operator === undefined ? {} : { operator }),
      ...(documentVersion === undefined ? {} : { documentVersion }),
      manifestUri: manifestUri(config),
      ...sidecarOf(config),
      aliases: new Map(aliases === undefined ? seed : Object.entries(aliases)),
    },
  };
}

/** Variables that are not set are given something, because their values do not matter here. */
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

function manifestUri({ server }: Config): string {
  const { domain, host, port } = server;
  if (domain !== undefined) return `agtp://${domain}`;
  return `agtp://${hostPort(host, port === 4480 ? undefined : port)}`;
}

function sidecarOf({ gateway }: Config): { readonly baseUrl?: string } {
  if (!gateway.enabled || gateway.port === 0) return {};
  const scheme = gateway.cert === undefined ? "http" : "https";
  return { baseUrl: `${scheme}://${hostPort(gateway.host, gateway.port)}` };
}

function hostPort(host: string, port: number | undefined): string {
  const name = host.includes(":") ? `[${host}]` : host;
  return port === undefined || port === 0 ? name : `${name}:${port}`;
}

/** Whether nothing that matters for an export is wrong. */
export function isComplete({ source, problems }: LoadedSource): boolean {
  return source !== undefined && !problems.some(isError);
}
