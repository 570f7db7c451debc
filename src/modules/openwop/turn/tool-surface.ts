/**
 * The tools that an agent is offered: the endpoints of this server that its manifest allows, and
 * that there are. A tool is `agtp:<METHOD> <path>`; what is written in another way names nothing
 * here. They are called in the agent's own name, through the pipeline, with the scopes that it was
 * given and no others.   OpenWOP RFC 0002 §A14, RFC 0072 §D, AGTP "Authority Scope"
 */

import type { JsonRecord } from "../../../base/json-value.ts";
import type { EndpointDefinition } from "../../../endpoint/endpoint.ts";
import type { AgentDocument } from "../../../identity/agent-document.ts";
import type { OfferedTool } from "../runtime/agent-runtime.ts";

/** A tool, and the endpoint behind it. */
export interface EndpointTool extends OfferedTool {
  readonly method: string;
  /** As the manifest has it: the template, or a path that one of them serves. */
  readonly path: string;
  readonly requiredScopes: readonly string[];
}

/** The endpoint that serves a pair; a path may be its template. */
export type FindEndpoint = (method: string, path: string) => EndpointDefinition | undefined;

const TOOL_ID = /^agtp:([A-Z]{3,32}) (\/\S{0,1023})$/;

/** The endpoint that a tool names; undefined: it names none. */
export function readToolId(
  toolId: string,
): { readonly method: string; readonly path: string } | undefined {
  const [, method, path] = TOOL_ID.exec(toolId) ?? [];
  return method === undefined || path === undefined ? undefined : { method, path };
}

/** The tools of an allowlist, by their ids. */
export function toolSurface(
  allowlist: readonly string[],
  findEndpoint: FindEndpoint,
): ReadonlyMap<string, EndpointTool> {
  const tools = new Map<string, EndpointTool>();
  for (const toolId of allowlist) {
    const named = readToolId(toolId);
    if (named === undefined) continue;
    const { method, path } = named;
    const endpoint = findEndpoint(method, path);
    if (endpoint === undefined) continue;
    const { description, inputSchema, requiredScopes } = endpoint;
    tools.set(toolId, { toolId, method, path, description, inputSchema, requiredScopes });
  }
  return tools;
}

/** One call. */
export interface HostedCall {
  readonly agent: AgentDocument;
  readonly scopes: readonly string[];
  readonly method: string;
  /** With its parameters filled in. */
  readonly path: string;
  readonly input: JsonRecord;
  readonly taskId: string;
  readonly signal: AbortSignal;
}

/** The answer to it. */
export interface HostedAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** Makes such calls. */
export interface ToolHost {
  readonly findEndpoint: FindEndpoint;
  call(call: HostedCall): Promise<HostedAnswer>;
}
