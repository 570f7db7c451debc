/** Response types of the console's API, shared by its routes and its pages. */

export interface Overview {
  readonly server: {
    readonly server_id: string;
    readonly version: string;
    readonly uptime_s: number;
    readonly document_version: string | null;
    readonly address: string;
    readonly port: number;
    readonly gateway_port?: number | null;
  };
  readonly requests: number;
  readonly by_status: Readonly<Record<string, number>>;
  readonly by_gate: Readonly<Record<string, number>>;
  readonly latency_ms: { readonly p50: number | null; readonly p99: number | null };
  readonly connections: number;
  readonly journal: { readonly writable: boolean };
  readonly problems: readonly Problem[];
  readonly waiting: number;
  /** The latest completed step of the history. */
  readonly latest: HistoryPoint | null;
}

/** One step: its end in seconds since the epoch, its counts, and its latencies in milliseconds. */
export type HistoryPoint = readonly [
  at: number,
  requests: number,
  refused: number,
  p50: number | null,
  p99: number | null,
];

export interface History {
  readonly step_s: number;
  readonly points: readonly HistoryPoint[];
}

export interface Problem {
  readonly file: string;
  readonly key: string;
  readonly message: string;
  readonly severity?: string;
}

export interface TrafficEntry {
  /** Sequence number; a page sends the last one it has seen to get later entries. */
  readonly number: number;
  readonly response_id: string;
  /** RFC 3339. */
  readonly at: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly duration_ms: number;
  readonly agent_id: string | null;
  /** The person who made the request; null if the agent acted by itself. */
  readonly operator: string | null;
  /** The gate that refused the request, and the code; null if none did. */
  readonly gate: string | null;
  readonly code: string | null;
}

export interface TrafficAnswer {
  /** Identifies the process's numbering of requests; each process begins its own. */
  readonly epoch: string;
  readonly entries: readonly TrafficEntry[];
}

export interface TrafficDetail {
  readonly entry: TrafficEntry;
  /** Null without an agent, and for an agent of another server. */
  readonly agent_name: string | null;
  readonly gates: readonly { readonly name: string; readonly passed: boolean }[];
}

/** One escalation, with the context that an agent wrote. */
export interface Escalation {
  readonly escalation_id: string;
  readonly agent_id: string;
  readonly agent_name?: string;
  readonly delegated_by?: readonly string[];
  readonly kind?: string;
  readonly reason?: string;
  readonly status: string;
  readonly priority?: string;
  readonly opened_at: string;
  readonly deadline?: string;
  readonly context?: unknown;
  /** The votes so far, if several people must decide. */
  readonly votes?: readonly { readonly by: string; readonly action: string }[];
  readonly decision?: Decision | null;
  /** Start of the call that used the approval; an approval covers one call. */
  readonly used_at?: string;
}

export interface Decision {
  readonly status?: string;
  readonly timestamp?: string;
  readonly operator?: unknown;
  readonly reason?: string;
}

export interface ApprovalList {
  readonly waiting: readonly Escalation[];
  readonly decided: readonly Escalation[];
}

export interface ApprovalDetail {
  readonly escalation: Escalation;
  readonly agent: Pick<Agent, "agent_id" | "name" | "status" | "trust_tier"> | null;
  readonly last_approved: Escalation | null;
}

export interface Agent {
  readonly agent_id: string;
  readonly name: string;
  readonly status: string;
  readonly trust_tier: number | string | null;
  readonly verification_path: string | null;
  readonly scopes: readonly string[];
  readonly owner_id: string | null;
  readonly chain_head: string | null;
  readonly last_at: string | null;
}

export interface AgentDetail {
  readonly agent: Agent & { readonly description?: string; readonly document?: unknown };
  readonly events: readonly {
    readonly audit_id: string;
    readonly payload: Readonly<Record<string, unknown>> | null;
  }[];
}

export interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly description: string;
  readonly tier: string | null;
  readonly impact: string | null;
  readonly is_idempotent: boolean | null;
  readonly required_scopes: readonly string[];
  readonly approval: string | null;
  readonly deprecated: boolean;
  readonly file: string | null;
}

export interface EndpointDetail {
  readonly endpoint: Readonly<Record<string, unknown>>;
  readonly input_schema: unknown;
  readonly output_schema: unknown;
}

/** Initial content of the form in which an operator makes a call in an agent's name. */
export interface TryOffer {
  readonly input: unknown;
  readonly agents: readonly Pick<Agent, "agent_id" | "name" | "status">[];
}

export interface TryAnswer {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly response_id: string;
  readonly audit_id: string | null;
  readonly duration_ms: number;
  readonly gates: TrafficDetail["gates"];
  readonly body: unknown;
  /** False if `body` is only the beginning of a text. */
  readonly is_whole: boolean;
}

export interface Contract {
  readonly synthesis_id: string;
  readonly description: string;
  readonly agent_id: string;
  readonly method: string;
  readonly path: string;
  readonly status: string;
  readonly created_at: string;
  readonly expires_at: string | null;
}

export interface Chain {
  readonly agent_id: string;
  readonly name: string | null;
  readonly audit_id: string;
  readonly last_at: string | null;
}

export interface ChainPage {
  readonly agent_id: string;
  readonly name: string | null;
  readonly head: string | null;
  readonly records: readonly { readonly audit_id: string; readonly jws: string }[];
  readonly next: string | null;
  /** The missing record, and the record that names it, before which the chain may continue. */
  readonly broken?: {
    readonly audit_id: string;
    readonly reason: string;
    readonly behind: string | null;
  };
  /** The record that the daemon says retention removed, along with all before it. */
  readonly cut?: {
    readonly audit_id: string;
    readonly is_archived: boolean;
    readonly through: string;
  };
}

export interface ServerKey {
  readonly kid: string;
  readonly fingerprint: string;
  readonly jwk: { readonly kty: string; readonly crv: string; readonly x: string };
}

export interface ServerNode {
  readonly node: string;
  readonly address: string;
  readonly version: string;
  readonly since: string;
  readonly state: string;
  readonly lease_ms: number | null;
}

export interface UpstreamTool {
  readonly tool: string;
  readonly endpoint: string;
  readonly pin: string | null;
  readonly state: string;
  readonly difference?: unknown;
  readonly escalation_id?: string;
}

export interface Upstreams {
  readonly http: readonly HttpUpstream[];
  readonly mcp: readonly {
    readonly server: string;
    readonly state: string;
    readonly tools: readonly UpstreamTool[];
  }[];
  readonly agents: readonly UpstreamAgent[];
  readonly processes: readonly {
    readonly name: string;
    readonly state: string;
    readonly count: number;
    readonly ready: number;
    readonly calls: number;
    readonly waiting: number;
    readonly restarts: number;
    readonly latency_ms: number | null;
  }[];
}

export interface HttpUpstream {
  readonly url: string;
  readonly endpoints: number;
  readonly state: string;
  readonly calls: number;
  readonly faults: number;
  readonly last_at: string | null;
  /** The code of the last failure, if there was one. */
  readonly last_fault?: string;
}

export interface UpstreamAgent {
  readonly name: string;
  readonly version: string;
  readonly base: string;
  readonly url: string | null;
  readonly state: string;
  readonly reason?: string;
  readonly dependencies: readonly {
    readonly name: string;
    readonly status: string;
    readonly reason?: string;
  }[];
}
