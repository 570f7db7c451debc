/**
 * Reads the ways in which an agent can be had: a service that runs already, source code, or a
 * container image. Options are named so that a dependent manifest, or an operator, can choose one.
 * Agent Manifest "Agent Deployment and Consumption"
 */
import { isRecord, quoteValue } from "../../../base/json-value.ts";
import type { DeploymentOption, RemoteService } from "./manifest.ts";
import type { MemberReader } from "./member-reader.ts";

const TYPES = ["remote_service", "source_code", "docker"] as const;
const FRAMEWORKS: ReadonlyMap<string, string> = new Map([
  ["langgraph", "graph"],
  ["llamaindex", "path"],
]);
/** An agent id becomes part of a URL. */
const AGENT_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** Every option; one with a problem is left out. */
export function readOptions(written: readonly MemberReader[]): readonly DeploymentOption[] {
  const options: DeploymentOption[] = [];
  for (const one of written) {
    const option = readOption(one);
    if (option === undefined) continue;
    const { name } = option;
    if (name !== undefined && options.some((earlier) => earlier.name === name)) {
      one.fail("name", `${quoteValue(name)} is the name of another option`);
    } else options.push(option);
  }
  return options;
}

function readOption(written: MemberReader): DeploymentOption | undefined {
  const type = written.word("type", TYPES);
  const name = written.optionalText("name");
  const named = name === undefined ? {} : { name };
  switch (type) {
    case undefined:
      return undefined;
    case "remote_service": {
      const protocol = written.object("protocol");
      const service = protocol && readProtocol(protocol);
      return service && { type, ...named, ...service };
    }
    case "source_code":
      return readSourceCode(written) ? { type, ...named } : undefined;
    case "docker": {
      // The published schema requires a protocol here and does not define it.
      const protocol = written.optionalObject("protocol");
      if (protocol?.has("url") === true) readProtocol(protocol);
      return written.text("image") === undefined ? undefined : { type, ...named };
    }
  }
}

function readProtocol(protocol: MemberReader): RemoteService | undefined {
  const type = protocol.word("type", ["ACP"]);
  const url = protocol.text("url");
  if (url !== undefined && !URL.canParse(url)) {
    return protocol.fail("url", `is ${quoteValue(url)}, expected an absolute URL`);
  }
  const agentId = protocol.optionalText("agent_id");
  if (agentId !== undefined && !AGENT_ID.test(agentId)) {
    return protocol.fail("agent_id", `is ${quoteValue(agentId)}, expected the id of an agent`);
  }
  const { value: scheme } = protocol.find("authentication");
  if (scheme !== undefined) protocol.object("authentication");
  if (type === undefined || url === undefined) return undefined;
  return {
    url,
    ...(agentId === undefined ? {} : { agentId }),
    ...(isRecord(scheme) ? { authentication: scheme } : {}),
  };
}

/** Whether it is whole. */
function readSourceCode(written: MemberReader): boolean {
  const url = written.text("url");
  const config = written.object("framework_config");
  const framework = config?.text("framework_type");
  if (url === undefined || config === undefined || framework === undefined) return false;
  const entry = FRAMEWORKS.get(framework);
  if (entry !== undefined) return config.text(entry) !== undefined;
  const known = [...FRAMEWORKS.keys()].join(" and ");
  const message = `${quoteValue(framework)} is not a framework that the manifest defines`;
  config.fail("framework_type", message, { hint: `known are ${known}`, severity: "warning" });
  return true;
}
