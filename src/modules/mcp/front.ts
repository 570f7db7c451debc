/** A deployment and a request, as seen by MCP clients. */
import type { JsonRecord } from "../../base/json-value.ts";
import type { Peer } from "../../dispatch/caller/peer.ts";
import type { Dispatcher } from "../../dispatch/dispatcher.ts";
import type { Recording } from "../../dispatch/recorded.ts";
import type { Refusal } from "../../dispatch/refusals/refusal.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import type { TokenVerifier } from "../../identity/bearer-syntax.ts";
import type { SchemaViolation } from "../../schema/schema.ts";
import type { Holders } from "../../state/holders.ts";
import type { ViewLease } from "../../state/state.ts";
import type { FrontContracts } from "./contracts/front-contracts.ts";
import type { ReportFault } from "./report-fault.ts";
import type { AskedCall, McpTasks } from "./tasks/task.ts";
import type { ToolListing } from "./tools/tool-listing.ts";
import type { ListedTool, Toolbox } from "./tools/toolbox.ts";

/** One deployment, as MCP clients see it. */
export interface McpFront {
  readonly serverId: string;
  readonly dispatcher: Dispatcher;
  readonly toolbox: Toolbox;
  readonly listing: ToolListing;
  readonly contracts: FrontContracts;
  readonly projection: Projection;
  /** Refuses the caller a stored result that took these scopes; undefined if it may have it. */
  refuseKept(caller: McpCaller, scopes: readonly string[]): Refusal | undefined;
  readonly tasks: McpTasks;
  /** Learns of other nodes' latest commits. */
  readonly view: Pick<ViewLease, "catchUp">;
  readonly holders: Holders;
  /** Returns the call of an escalation; undefined if it is not this agent's. */
  approvedCallOf(escalationId: string, agentId: string | undefined): AskedCall | undefined;
  /** True if an escalation is undecided. */
  isUndecided(escalationId: string): boolean;
  /** The agent of clients whose token names none. */
  readonly agent: AgentDocument;
  /** True if no operator configured that agent, which then stands for anyone who reaches the port. */
  readonly isAgentIssued: boolean;
  /** `[mcp] anonymous` */
  readonly isAnonymousServed: boolean;
  /** Undefined if no tokens are verified. */
  readonly tokens: TokenVerifier | undefined;
  /** Undefined without `[policies.oauth]`. */
  readonly protection: Protection | undefined;
  /** Fires when the daemon begins to stop. */
  readonly stopping: AbortSignal;
  /** Returns the deployment that is served now. */
  latest(): McpFront;
  readonly reportFault: ReportFault;
  readonly ledger: Recording;
}

/** The tools that clients would be shown now. */
export interface Projection {
  /** Lists the caller's tools: the same list as long as nothing has changed for it. */
  toolsOf(caller: McpCaller): readonly ListedTool[];
  /** Returns the time at which the first of an agent's own tools expires. */
  validUntil(agentId: string): number;
}

/** MCP as a protected resource.   RFC 9728 */
export interface Protection {
  readonly issuer: string;
  /** Scopes that the tools require. */
  readonly scopes: readonly string[];
  /** `[policies.oauth] audience`, which the pipeline has checked already. */
  readonly audience: string | undefined;
  /** The public URL of the resource; undefined if it is unknown. */
  resource(): string | undefined;
  /** The URL of the resource's metadata. */
  metadataUrl(): string | undefined;
}

export interface McpCaller {
  /** The header fields by which the pipeline identifies the caller. */
  readonly fields: ReadonlyMap<string, string>;
  readonly peer: Peer;
  /** Identifies the caller in everything stored for it. */
  readonly key: string;
}

/** One HTTP request, which the library's handlers get along with the message. */
export interface McpRequest {
  readonly front: McpFront;
  readonly caller: McpCaller;
  /** Arguments that the library would change. */
  readonly lost: readonly SchemaViolation[] | undefined;
  /** Set if the HTTP response must be a challenge. */
  challenge: Challenge | undefined;
  /** Returns the result of a call that was made already, or throws its error. */
  given?: (() => JsonRecord) | undefined;
}

/** A refusal that another token may lift.   RFC 6750 §3 */
export interface Challenge {
  readonly status: 401 | 403;
  readonly error: "invalid_token" | "insufficient_scope" | undefined;
  readonly message: string;
  readonly scopes: readonly string[];
}
