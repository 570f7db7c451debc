/**
 * A check: one question about a deployment, answered from its files and its machine. Files are read
 * as the daemon reads them, but no handler is loaded, nothing is started and nothing is written.
 * `checks/` groups them by subject.
 */

import { basename, relative, resolve } from "node:path";
import type { Config } from "../../app/config/config.ts";
import { type ConfigOverrides, loadConfig } from "../../app/config/load.ts";
import { loadingContents, loadVocabulary } from "../../app/contents.ts";
import { loadingOperatorAgents } from "../../app/foundation.ts";
import { readBoundedFile } from "../../base/bounded-file.ts";
import type { Environment } from "../../base/environment.ts";
import { atOnce } from "../../base/paced.ts";
import type { Problem } from "../../base/problem.ts";
import { parseToml, type TomlTable } from "../../base/toml-document.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import { chooseGatewayAgent } from "../../modules/gateway/gateway-agent.ts";
import { surveyOpenwop } from "../../modules/openwop/find-mistakes.ts";
import type { DatabaseAnswer } from "../../state/postgres/survey.ts";
import type { Finding, Severity } from "../shell/findings.ts";
import type { Machine } from "./machine.ts";

/** One observation of a check, with a remedy. */
export interface Observation extends Omit<Finding, "rule"> {
  readonly hint: string;
}

/** One check. A throw means that it could not be made. */
export interface Check {
  /** Kebab-case; docs/doctor.md explains it. */
  readonly id: string;
  readonly asks: string;
  look(subject: Subject): readonly Observation[];
}

interface SettingVerdict {
  readonly message: string;
  readonly hint: string;
  /** Default: warning. */
  readonly severity?: Severity;
  /** The key of the finding, if it is not the one that the check is about. */
  readonly key?: string;
}

/** Creates a check of one configuration key; a verdict of undefined means that nothing was found. */
export function settingCheck(
  id: string,
  asks: string,
  key: string,
  judge: (subject: Subject) => SettingVerdict | undefined,
): Check {
  return {
    ...{ id, asks },
    look: (subject) => {
      const verdict = judge(subject);
      const found = { severity: "warning" as const, file: subject.configFile, key };
      return verdict === undefined ? [] : [{ ...found, ...verdict }];
    },
  };
}

export interface Subject {
  readonly config: Config;
  readonly configFile: string;
  /** The configuration as written: without defaults, before variables are replaced. */
  readonly written: TomlTable;
  readonly catalog: Catalog;
  readonly endpoints: readonly EndpointDefinition[];
  readonly agents: readonly AgentDocument[];
  /** Problems of packs, workflows and their configuration. */
  readonly openwop: readonly Problem[];
  readonly problems: readonly Problem[];
  readonly machine: Machine;
  /** The daemon's environment variables, including the deployment's `.env`. */
  readonly environment: Environment;
  /** Undefined if there is no database, or it was not asked. */
  readonly database?: DatabaseAnswer | undefined;
}

/** The subject, or the problems that would keep a daemon from starting. */
type LoadedSubject =
  | { readonly subject: Subject; readonly problems?: undefined }
  | { readonly subject?: undefined; readonly problems: readonly Problem[] };

const MAX_BYTES = 1024 * 1024;

/** Loads a deployment for the checks. */
export function loadSubject(options: {
  readonly configPath: string;
  readonly overrides: ConfigOverrides;
  readonly environment: Environment;
  readonly machine: Machine;
}): LoadedSubject {
  const { configPath, overrides, machine } = options;
  const loaded = loadConfig(configPath, options.environment, overrides);
  const { config, environment } = loaded;
  const problems = [...loaded.problems];
  if (config === undefined) return { problems };
  const vocabulary = loadVocabulary(config, problems);
  if (vocabulary === undefined) return { problems };
  const { documents: agents, isSound } = atOnce(loadingOperatorAgents(config, problems));
  if (!isSound) return { problems };
  const speaker = chooseGatewayAgent(config, agents);
  if (speaker.kind === "refused") return { problems: [...problems, speaker.problem] };
  const { endpoints } = atOnce(loadingContents(config, vocabulary, environment, problems));
  const definitions = endpoints.map(({ definition }) => definition);
  const subject: Subject = {
    config,
    configFile: basename(config.file),
    written: readWritten(config.file),
    catalog: vocabulary.catalog,
    endpoints: definitions,
    openwop: surveyOpenwop(config, definitions),
    agents,
    problems,
    machine,
    environment,
  };
  return { subject };
}

/** The file was parsed before, so this fails only if it has changed since. */
function readWritten(path: string): TomlTable {
  const { text } = readBoundedFile(path, MAX_BYTES);
  return parseToml(text ?? "").table ?? {};
}

/** The name of a path in findings: relative inside the deployment, absolute outside. */
export function nameOf({ config }: Pick<Subject, "config">, path: string): string {
  const name = relative(config.directory, path).replaceAll("\\", "/");
  if (name === "") return ".";
  return name === ".." || name.startsWith("../") ? resolve(path) : name;
}
