/** An agent that could be exported, and what every export says of this server. */
import type { Config } from "../../app/config/config.ts";
import type { Environment } from "../../base/environment.ts";
import type { Problem } from "../../base/problem.ts";
import type { ExportedAgent } from "./build-record.ts";

/** An agent, under every name that it answers to. */
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

/** The address of this server. */
export function agtpUri({ server }: Config, path: string): string {
  const { domain, host, port } = server;
  const name = host.includes(":") ? `[${host}]` : host;
  const place = domain ?? (port === 0 || port === 4480 ? name : `${name}:${port}`);
  return `agtp://${place}${path}`;
}

/** The publisher of the record. */
export function authorsOf({ server }: Config): readonly string[] {
  return [server.operator ?? server.serverId];
}
