/** The parts that MCP in front of a server is made of, and a call as it comes in. */
import type { JsonRecord } from "../../base/json-value.ts";
import type { AgtpClient, ClientRequest } from "../../client/agtp-client.ts";

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
export interface FrontCall {
  readonly name: string;
  readonly arguments: JsonRecord;
  readonly meta: unknown;
  readonly signal: AbortSignal;
  readonly isCurrent: boolean;
  readonly knowsTasks: boolean;
}
