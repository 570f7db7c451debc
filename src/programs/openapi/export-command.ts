/**
 * `agtp-openapi export`: the endpoints of a deployment directory, or those that a server tells of in
 * its manifest, as an OpenAPI document.
 */
import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Environment } from "../../base/environment.ts";
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import { formatProblem, isError } from "../../base/problem.ts";
import { createClient } from "../../client/client.ts";
import { AgtpClientError } from "../../client/client-error.ts";
import { parseUri } from "../../client/uri.ts";
import { type ExportSource, exportOpenapi } from "../../openapi/export-openapi.ts";
import { readManifestEndpoint } from "../../openapi/exported-endpoint.ts";
import { loadShippedCatalog } from "../../openapi/shipped-catalog-text.ts";
import { readOptions } from "../agtp/command.ts";
import { usage } from "../shell/command-file.ts";
import { CommandRefusal } from "../shell/command-refusal.ts";
import { defuseLine, type Terminal } from "../shell/terminal.ts";
import { writeFiles } from "../shell/write-files.ts";
import type { ExportLine } from "./command-line.ts";
import { isComplete, loadExportSource } from "./load-deployment.ts";

/** To whom an Agent-ID is sent, "/" is answered with something else unless this is asked for. */
const MANIFEST_TYPE = "application/vnd.agtp.manifest+json";
const CONFIG_NAME = "agtp-server.toml";

/** Exports; always yes, or an error that says why not. */
export async function runExport(
  line: ExportLine,
  terminal: Terminal,
  environment: Environment,
): Promise<boolean> {
  const { source: named, config, output, force = false } = line;
  if (named !== undefined && config !== undefined) {
    throw usage("expected a directory, a URI or --config, got two of them");
  }
  const source =
    named !== undefined && /^agtp:\/\//i.test(named)
      ? await askServer(named, line, terminal)
      : loadSource(configPath(named, config, terminal), terminal, environment);
  const text = `${JSON.stringify(exportOpenapi(source), undefined, 2)}\n`;
  if (output === undefined) terminal.out.write(text);
  else writeFiles(terminal.directory, [{ path: output, content: text, isSecret: false }], force);
  return true;
}

function configPath(
  directory: string | undefined,
  config: string | undefined,
  terminal: Terminal,
): string {
  const path = resolve(
    terminal.directory,
    directory === undefined ? (config ?? CONFIG_NAME) : join(directory, CONFIG_NAME),
  );
  try {
    if (statSync(path).isFile()) return path;
  } catch {
    // What is not there is as little a configuration as a directory is.
  }
  throw usage(`${JSON.stringify(path)} is no configuration file`);
}

function loadSource(path: string, { err }: Terminal, environment: Environment): ExportSource {
  const loaded = loadExportSource(path, environment);
  for (const problem of loaded.problems) {
    const kind = isError(problem) ? "" : "warning: ";
    err.write(`${kind}${defuseLine(formatProblem(problem))}\n`);
  }
  if (loaded.source !== undefined && isComplete(loaded)) return loaded.source;
  throw new CommandRefusal("the deployment has problems, nothing was exported");
}

async function askServer(
  text: string,
  line: ExportLine,
  terminal: Terminal,
): Promise<ExportSource> {
  const uri = parseUri(text);
  const client = createClient(readOptions(line, uri, terminal));
  try {
    const { agentId } = line;
    const headers = [["Accept", MANIFEST_TYPE]] as const;
    const request = { method: "DISCOVER", path: "/", headers, agentId };
    const { status, body } = await client.request(request);
    if (status !== 200 || !isRecord(body)) {
      throw new CommandRefusal(`the server answered ${status}, expected 200 and its manifest`);
    }
    return readManifest(body, text.replace(/\/+$/, ""));
  } finally {
    await client.close();
  }
}

function readManifest(manifest: JsonRecord, uri: string): ExportSource {
  const { server, endpoints, policies, catalog_version: version } = manifest;
  const serverId = isRecord(server) ? server["server_id"] : undefined;
  if (typeof serverId !== "string" || !Array.isArray(endpoints)) {
    throw new AgtpClientError("ERR_AGTP_RESPONSE", "the response is no server manifest");
  }
  const methods = isRecord(policies) ? policies["methods"] : undefined;
  const aliases = isRecord(methods) ? methods["aliases"] : undefined;
  const operator = isRecord(server) ? server["operator"] : undefined;
  const { catalog } = loadShippedCatalog();
  return {
    endpoints: endpoints.flatMap((entry) => readManifestEndpoint(entry) ?? []),
    serverId,
    ...(typeof operator === "string" ? { operator } : {}),
    documentVersion: String(manifest["document_version"]),
    catalog: typeof version === "string" ? { ...catalog, version } : catalog,
    manifestUri: uri,
    aliases: new Map(
      Object.entries(isRecord(aliases) ? aliases : {}).filter(
        (entry): entry is [string, string] => typeof entry[1] === "string",
      ),
    ),
  };
}
