/**
 * This server's endpoints as hosted agents call them: in their own name, through the pipeline, with
 * the scopes that they were given and no others.   OpenWOP RFC 0072 §D, AGTP "Authority Scope"
 */

import type { JsonRecord } from "../../../base/json-value.ts";
import type { AgentDocument } from "../../../identity/agent-document.ts";
import type { FindEndpoint } from "./tool-surface.ts";

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
