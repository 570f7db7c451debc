/**
 * `agtp-openapi`: imports and exports OpenAPI documents. The exit code is 0 on success, 1 when the
 * document or the command is refused or `--strict` finds something to review, 2 when it could not
 * be carried out.
 */

import { join, resolve } from "node:path";
import { isFile } from "../../base/bounded-file.ts";
import { isRecord, type JsonRecord, recordIn, textIn } from "../../base/json-value.ts";
import { withoutEndSlashes } from "../../base/url-text.ts";
import { AgtpClientError } from "../../client/client-error.ts";
import { MANIFEST_TYPE } from "../../identity/manifest-signature.ts";
import { type ExportSource, exportOpenapi } from "../../openapi/export-openapi.ts";
import { readManifestEndpoint } from "../../openapi/http-form.ts";
import { loadShippedCatalog } from "../../openapi/import-files.ts";
import { askServer } from "../shell/ask-server.ts";
import { type Command, CommandRefusal, command, type Line, usage } from "../shell/command.ts";
import { printProblems } from "../shell/findings.ts";
import { jsonText } from "../shell/print-json.ts";
import type { Terminal } from "../shell/terminal.ts";
import { writeOutput } from "../shell/write-files.ts";
import { importCommand } from "./import-command.ts";
import { isComplete, loadExportSource } from "./load-deployment.ts";

const CONFIG_NAME = "agtp-server.toml";

const ARGS = { "[source]": "a deployment directory, or agtp://HOST[:PORT]" } as const;
const OPTIONS = {
  "--config <file>": "configuration of the deployment; default agtp-server.toml",
  "-o, --output <file>": "where the document goes; default: standard output",
  "--force": "replace a file that is there",
  "--agent-id <id>": { help: "Agent-ID: who asks a server", words: "agents" },
  "--ca <file>": "authorities to trust, PEM; on loopback default .agtp/tls/cert.pem",
  "--insecure": "trust any certificate",
  "--cert <file>": "certificate of the caller, PEM",
  "--key <file>": "its key, PEM",
} as const;

type ExportLine = Line<typeof ARGS, typeof OPTIONS>;

const exportCommand: Command = command({
  name: "export",
  description: "Writes the endpoints of a deployment, or of a server, as OpenAPI 3.1.",
  args: ARGS,
  options: OPTIONS,
  run,
});

async function run(line: ExportLine, terminal: Terminal): Promise<undefined> {
  const { source: named, config } = line;
  if (named !== undefined && config !== undefined) {
    throw usage("expected a directory, a URI or --config, got two of them");
  }
  const source =
    named !== undefined && /^agtp:\/\//i.test(named)
      ? await readServer(named, line, terminal)
      : loadSource(configPath(named, config, terminal), terminal);
  writeOutput(jsonText(exportOpenapi(source)), line, terminal);
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
  if (isFile(path)) return path;
  throw usage(`${JSON.stringify(path)} is no configuration file`);
}

function loadSource(path: string, { err, environment }: Terminal): ExportSource {
  const loaded = loadExportSource(path, environment);
  printProblems(loaded.problems, err);
  if (loaded.source !== undefined && isComplete(loaded)) return loaded.source;
  throw new CommandRefusal("the deployment has problems, nothing was exported");
}

async function readServer(
  uri: string,
  { agentId, ...flags }: ExportLine,
  terminal: Terminal,
): Promise<ExportSource> {
  const headers = [["Accept", MANIFEST_TYPE]] as const;
  const request = { method: "DISCOVER", path: "/", headers, agentId };
  const { status, body } = await askServer(flags, uri, terminal, (client) =>
    client.request(request),
  );
  if (status !== 200 || !isRecord(body)) {
    throw new CommandRefusal(`the server answered ${status}, expected 200 and its manifest`);
  }
  return readManifest(body, withoutEndSlashes(uri));
}

function readManifest(manifest: JsonRecord, uri: string): ExportSource {
  const { server, endpoints, policies, catalog_version: version } = manifest;
  const serverId = recordIn(server)["server_id"];
  if (typeof serverId !== "string" || !Array.isArray(endpoints)) {
    throw new AgtpClientError("ERR_AGTP_RESPONSE", "the response is no server manifest");
  }
  const methods = recordIn(policies)["methods"];
  const aliases = recordIn(methods)["aliases"];
  const operator = recordIn(server)["operator"];
  const { catalog } = loadShippedCatalog();
  return {
    endpoints: endpoints.flatMap((entry) => readManifestEndpoint(entry) ?? []),
    ...{ serverId, operator: textIn(operator) },
    documentVersion: textIn(manifest["document_version"]),
    catalog: typeof version === "string" ? { ...catalog, version } : catalog,
    manifestUri: uri,
    aliases: new Map(
      Object.entries(recordIn(aliases)).filter(
        (entry): entry is [string, string] => typeof entry[1] === "string",
      ),
    ),
  };
}

const NOTES = `
Examples:
  agtp-openapi import petstore.yaml --output petstore
  agtp-openapi import internal.json --output billing --base-url https://billing.acme.example/v1
  agtp-openapi export --config petstore/agtp-server.toml -o petstore.openapi.json
  agtp-openapi export agtp://localhost

Exit codes: 0 done, 1 refused, or --strict and there is more to review than usual, 2 it could not be asked.`;

export const openapiProgram: Command = {
  name: "agtp-openapi",
  description: "OpenAPI documents as AGTP endpoints, and AGTP endpoints as OpenAPI documents.",
  notes: NOTES,
  hasLongMessages: true,
  commands: [importCommand, exportCommand],
};
