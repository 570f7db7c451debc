/** The parts of a deployment that MCP clients meet, and those of a request of theirs. */
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

/** One deployment, as MCP clients meet it. */
export interface McpFront {
  readonly serverId: string;
  readonly dispatcher: Dispatcher;
  readonly toolbox: Toolbox;
  readonly listing: ToolListing;
  readonly contracts: FrontContracts;
  readonly projection: Projection;
  /** Why a client is refused now what took these scopes; undefined: it is given it. */
  refuseKept(caller: McpCaller, scopes: readonly string[]): Refusal | undefined;
  readonly tasks: McpTasks;
  /** Hears of other nodes and their latest commits. */
  readonly view: Pick<ViewLease, "catchUp">;
  readonly holders: Holders;
  /** The call that an escalation asks about, of an agent; undefined: none of that agent's. */
  approvedCallOf(escalationId: string, agentId: string | undefined): AskedCall | undefined;
  /** True if an escalation is still to be decided. */
  isUndecided(escalationId: string): boolean;
  /** Whom a client speaks as whose token names no agent. */
  readonly agent: AgentDocument;
  /** No operator has named that agent: it stands for anybody who reaches the port. */
  readonly isAgentIssued: boolean;
  /** `[mcp] anonymous` */
  readonly isAnonymousServed: boolean;
  /** Undefined where nobody vouches for clients. */
  readonly tokens: TokenVerifier | undefined;
  /** Undefined without `[policies.oauth]`. */
  readonly protection: Protection | undefined;
  /** Fires when the daemon begins to stop. */
  readonly stopping: AbortSignal;
  /** The deployment that is served now. */
  latest(): McpFront;
  readonly reportFault: ReportFault;
  readonly ledger: Recording;
}

/** The tools that clients would be shown now. */
export interface Projection {
  /** Lists the caller's tools: the same list as long as nothing has changed for it. */
  toolsOf(caller: McpCaller): readonly ListedTool[];
  /** When the first of an agent's own tools is over, unless something happens before. */
  validUntil(agentId: string): number;
}

/** MCP as a protected resource.   RFC 9728 */
export interface Protection {
  readonly issuer: string;
  /** Scopes that its tools ask for. */
  readonly scopes: readonly string[];
  /** `[policies.oauth] audience`: what the pipeline has checked already. */
  readonly audience: string | undefined;
  /** Where clients find it; undefined where nobody can tell. */
  resource(): string | undefined;
  /** Where they find its metadata. */
  metadataUrl(): string | undefined;
}

export interface McpCaller {
  /** The header fields that the pipeline knows it by. */
  readonly fields: ReadonlyMap<string, string>;
  readonly peer: Peer;
  /** Tells it from the others, in whatever is kept for it. */
  readonly key: string;
}

/** One HTTP request; handlers of the library find it beside the message. */
export interface McpRequest {
  readonly front: McpFront;
  readonly caller: McpCaller;
  /** The part of a call's arguments that is not as it was sent. */
  readonly lost: readonly SchemaViolation[] | undefined;
  /** Set where HTTP itself has to say no. */
  challenge: Challenge | undefined;
  /** Gives the result of a call that was made already, or throws its error. */
  given?: (() => JsonRecord) | undefined;
}

/** A refusal that a client answers by getting another token.   RFC 6750 §3 */
export interface Challenge {
  readonly status: 401 | 403;
  readonly error: "invalid_token" | "insufficient_scope" | undefined;
  readonly message: string;
  readonly scopes: readonly string[];
}
