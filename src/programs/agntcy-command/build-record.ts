/**
 * Builds the OASF record, with the manifest extension, of an agent that this server hosts. It
 * claims no ACP endpoint: this server is reached over AGTP, which the record states as a locator
 * and an annotation. An AGNTCY agent is described as in its manifest; its servers are only included
 * on request, since callers should come here.
 */

import { isAbsolute } from "node:path";
import type { Config } from "../../app/config/config.ts";
import { readBoundedFile } from "../../base/bounded-file.ts";
import type { Environment } from "../../base/environment.ts";
import {
  isRecord,
  type JsonRecord,
  listIn,
  recordIn,
  textIn,
  textsIn,
} from "../../base/json-value.ts";
import type { Problem } from "../../base/problem.ts";
import { ManifestLibrary } from "../../modules/agntcy/dependencies/manifest-library.ts";
import {
  type AcpSpecs,
  type AgentManifest,
  schemasOf,
} from "../../modules/agntcy/manifest/manifest.ts";
import {
  AGTP_ANNOTATION,
  isRuntimeExtension,
  MAX_MANIFEST_BYTES,
  RUNTIME_EXTENSION,
} from "../../modules/agntcy/manifest/read-manifest.ts";
import { serverUri } from "../shell/read-config.ts";

/** An agent as its record describes it. */
export interface ExportedAgent {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly authors: readonly string[];
  readonly skills: readonly unknown[];
  /** The `acp` block. */
  readonly specs: JsonRecord;
  readonly options: readonly unknown[];
  readonly environment: readonly unknown[];
  readonly dependencies: readonly unknown[];
  readonly locators: readonly { readonly type: string; readonly url: string }[];
  readonly uri: string;
  readonly method: string;
  readonly createdAt?: string;
}

const SCHEMA_VERSION = "0.3.1";
const EXTENSION_VERSION = "v0.0.1";

/** Builds the record. */
export function buildRecord(agent: ExportedAgent, now: Date): JsonRecord {
  const { name, version, description, authors, skills, uri, method } = agent;
  return {
    ...{ name, version, schema_version: SCHEMA_VERSION, description, authors, skills },
    created_at: agent.createdAt ?? now.toISOString(),
    locators: [...agent.locators, { type: "unspecified", url: uri }],
    annotations: { [AGTP_ANNOTATION]: uri, "agtp.method": method },
    extensions: [
      {
        name: RUNTIME_EXTENSION,
        version: EXTENSION_VERSION,
        data: {
          acp: agent.specs,
          deployment: {
            deployment_options: agent.options,
            env_vars: agent.environment,
            agent_deps: agent.dependencies,
          },
        },
      },
    ],
  };
}

/** An agent that may be exported, with every name it is known by. */
export interface Candidate {
  readonly names: readonly string[];
  readonly problems: readonly Problem[];
  build(): ExportedAgent;
}

/** Options for the collection of agents. */
export interface ExportOptions {
  readonly environment: Environment;
  /** True if the servers behind an agent are included. */
  readonly showsUpstream: boolean;
}

/** The publisher of the server's records. */
export function authorsOf({ server }: Config): readonly string[] {
  return [server.operator ?? server.serverId];
}

/** Lists the configuration's AGNTCY agents. */
export function agntcyAgents(
  config: Config,
  { showsUpstream }: ExportOptions,
): readonly Candidate[] {
  const library = new ManifestLibrary({ directory: config.directory });
  return config.agntcy.map(({ manifest: path, base }) => {
    const { manifest, problems } = library.read(path);
    return {
      names: [...(manifest === undefined ? [] : [manifest.name]), base],
      problems,
      build: () => {
        if (manifest === undefined) throw new Error("an agent with problems is not exported");
        return exportManifest(manifest, path, config, { base, showsUpstream });
      },
    };
  });
}

function exportManifest(
  manifest: AgentManifest,
  path: string,
  config: Config,
  { base, showsUpstream }: { readonly base: string; readonly showsUpstream: boolean },
): ExportedAgent {
  const raw = readRaw(path);
  const deployment = deploymentOf(raw);
  const written = listIn(deployment["deployment_options"] ?? raw["deployments"]);
  const options = written
    .flatMap(optionPart)
    .filter(({ type }) => showsUpstream || type !== "remote_service");
  const { name, version, description, specs } = manifest;
  const authors = textsIn(raw["authors"]);
  const createdAt = textIn(raw["created_at"]);
  return {
    ...{ name, version, description, options },
    authors: authors.length === 0 ? authorsOf(config) : authors,
    skills: listIn(raw["skills"]).flatMap(skillPart),
    specs: specsOf(specs),
    environment: listIn(deployment["env_vars"] ?? raw["env_vars"]).flatMap(variablePart),
    dependencies: manifest.dependencies.map(dependencyOf),
    locators: locatorsOf(raw, options),
    uri: `${serverUri(config)}${base}`,
    method: "EXECUTE",
    ...(createdAt === undefined ? {} : { createdAt }),
  };
}

/** The file was valid JSON when the manifest was read. */
function readRaw(path: string): JsonRecord {
  const { text = "{}" } = readBoundedFile(path, MAX_MANIFEST_BYTES);
  return recordIn(JSON.parse(text));
}

function deploymentOf(raw: JsonRecord): JsonRecord {
  const extensions = listIn(raw["extensions"] ?? raw["modules"]).map(recordIn);
  const runtime = extensions.find(({ name }) => isRuntimeExtension(name));
  return recordIn((runtime === undefined ? raw : recordIn(runtime["data"]))["deployment"]);
}

function specsOf(specs: AcpSpecs): JsonRecord {
  return {
    capabilities: specs.capabilities,
    ...schemasOf(specs),
    interrupts: specs.interrupts.map(({ type, payload, resume }) => ({
      interrupt_type: type,
      interrupt_payload: payload.schema,
      resume_payload: resume.schema,
    })),
  };
}

/** A file path is dropped from a reference, because it means nothing where the record is read. */
function dependencyOf({ name, ref, option }: AgentManifest["dependencies"][number]): JsonRecord {
  const { url, ...named } = ref;
  const isUrl = url !== undefined && !isAbsolute(url) && URL.canParse(url);
  return {
    name,
    ref: { ...named, ...(isUrl ? { url } : {}) },
    ...(option === undefined ? {} : { deployment_option: option }),
  };
}

function locatorsOf(raw: JsonRecord, options: readonly JsonRecord[]): ExportedAgent["locators"] {
  const written = listIn(raw["locators"]).flatMap(locatorPart);
  if (written.length > 0) return written;
  return options.flatMap(({ type, url, image }) => {
    if (type === "source_code" && typeof url === "string") return [{ type: "source-code", url }];
    if (type === "docker" && typeof image === "string")
      return [{ type: "docker-image", url: image }];
    return [];
  });
}

/** A deployment option; left out if only its own directory can resolve it. */
function optionPart(option: unknown): readonly JsonRecord[] {
  if (!isRecord(option)) return [];
  const { type, url, image } = option;
  if (type === "docker") return [{ ...option, image: imageUrl(image) }];
  if (type !== "source_code") return [option];
  const absolute = sourceUrl(url);
  return absolute === undefined ? [] : [{ ...option, url: absolute }];
}

/** Converts `git@host:path` and `host/path` to URLs; undefined for a local path. */
function sourceUrl(written: unknown): string | undefined {
  const text = String(written);
  const remote = /^([\w.-]+@[\w.-]+):(?!\/\/)\/?(.+)$/.exec(text);
  if (remote !== null) return `ssh://${remote[1]}/${remote[2]}`;
  if (/^[\w-]+(?:\.[\w-]+)+(?::\d+)?\//.test(text)) return `https://${text}`;
  return /^[a-z][a-z0-9+.-]*:\/\/(?!\.)/i.test(text) && URL.canParse(text) ? text : undefined;
}

/** Converts an image reference, which is not a URL itself. */
function imageUrl(written: unknown): string {
  const text = String(written);
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `docker://${text}`;
}

/** A variable that an agent reads; the record requires a description. */
function variablePart(variable: unknown): readonly JsonRecord[] {
  if (!isRecord(variable)) return [];
  const { name, required, desc = variable["description"] } = variable;
  const value = variable["defaultValue"] ?? variable["default_value"];
  return [
    {
      ...{ name, desc: typeof desc === "string" ? desc : String(name) },
      ...(typeof required === "boolean" ? { required } : {}),
      ...(typeof value === "string" ? { defaultValue: value } : {}),
    },
  ];
}

/** A skill by its number; skills that newer records identify only by name are left out. */
function skillPart(skill: unknown): readonly JsonRecord[] {
  if (!isRecord(skill)) return [];
  const { class_uid: uid = skill["id"], id: _id, name, ...rest } = skill;
  if (typeof uid !== "number") return [];
  return [{ ...rest, class_uid: uid, ...(typeof name === "string" ? { class_name: name } : {}) }];
}

const LOCATOR_TYPES: ReadonlyMap<string, string> = new Map([
  ...["binary", "helm-chart", "docker-image", "py-package", "source-code"].map(
    (type) => [type, type] as const,
  ),
  ["helm_chart", "helm-chart"],
  ["docker_image", "docker-image"],
  ["container_image", "docker-image"],
  ["python_package", "py-package"],
  ["source_code", "source-code"],
]);

/** A locator for each address; newer records list several addresses in one. */
function locatorPart(locator: unknown): readonly { readonly type: string; readonly url: string }[] {
  const { type, url, urls } = recordIn(locator);
  const known = LOCATOR_TYPES.get(String(type)) ?? "unspecified";
  return [url, ...listIn(urls)].flatMap((one) =>
    typeof one === "string" ? [{ type: known, url: one }] : [],
  );
}
