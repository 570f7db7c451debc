/** The parts that MCP in front of a server is made of, and a call as it comes in. */

import type { AgtpClient, ClientRequest } from "../../client/agtp-client.ts";
import type { ToolCall } from "../../modules/mcp/tools/tool-call.ts";

/** The agent that the server is asked as. */
type Caller = Pick<ClientRequest, "agentId" | "scopes" | "headers">;

/** The parts of a front. */
export interface FrontParts {
  readonly client: AgtpClient;
  readonly caller: Caller;
  /** Messages for a person. */
  tell(message: string): void;
  /** Milliseconds. */
  now(): number;
  /** How often a list that the client was shown is looked at. */
  readonly lookMs: number;
}

/** One call, as the library read it. */
export interface FrontCall
  extends Pick<ToolCall, "name" | "arguments" | "meta" | "isCurrent" | "knowsTasks"> {
  readonly signal: AbortSignal;
}
