/**
 * An OASF record with the manifest extension, of an agent that this server hosts. It claims no ACP
 * endpoint: this server is reached over AGTP, which the record says as a locator and an annotation.
 */

import type { Config } from "../../app/config/config.ts";
import type { Environment } from "../../base/environment.ts";
import type { JsonRecord } from "../../base/json-value.ts";
import type { Problem } from "../../base/problem.ts";
import { AGTP_ANNOTATION, RUNTIME_EXTENSION } from "../../modules/agntcy/manifest/read-manifest.ts";

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
  /** Its address over AGTP. */
  readonly uri: string;
  readonly method: string;
  readonly createdAt?: string;
}

const SCHEMA_VERSION = "0.3.1";
const EXTENSION_VERSION = "v0.0.1";

/** The record. */
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

/** An agent that could be exported, under every name that it answers to. */
export interface Candidate {
  readonly names: readonly string[];
  readonly problems: readonly Problem[];
  build(): ExportedAgent;
}

/** Options of looking for agents. */
export interface ExportOptions {
  readonly environment: Environment;
  /** True if the servers behind an agent are shown. */
  readonly showsUpstream: boolean;
}

/** The publisher of its records. */
export function authorsOf({ server }: Config): readonly string[] {
  return [server.operator ?? server.serverId];
}
