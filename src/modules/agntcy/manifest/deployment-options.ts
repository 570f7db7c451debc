/**
 * Reads the ways in which an agent can be had: a service that runs already, source code, or a
 * container image. Options are named so that a dependent manifest, or an operator, can choose one.
 * Agent Manifest "Agent Deployment and Consumption"
 */

import type { DocumentPlace } from "../../../base/document-place.ts";
import { isRecord, quoteValue } from "../../../base/json-value.ts";
import type { DeploymentOption, RemoteService } from "./manifest.ts";

const TYPES = ["remote_service", "source_code", "docker"] as const;
const FRAMEWORKS: ReadonlyMap<string, string> = new Map([
  ["langgraph", "graph"],
  ["llamaindex", "path"],
]);
/** An agent id becomes part of a URL. */
const AGENT_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** Every option; one with a problem is left out. */
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
      // The published schema requires a protocol here and does not define it.
      const protocol = written.at("protocol").optional?.record();
      if (protocol?.has("url") === true) readProtocol(protocol);
      return written.at("image").text() === undefined ? undefined : { type, ...named };
    }
  }
}

function readProtocol(protocol: DocumentPlace): RemoteService | undefined {
  const type = protocol.at("type").word(["ACP"]);
  const url = protocol.at("url").text();
  if (url !== undefined && !URL.canParse(url)) {
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

/** Tells whether it is whole. */
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
