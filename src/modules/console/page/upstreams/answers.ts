/** The answer of the interface about upstreams, as the page reads it. */

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
  /** The code of the last failure, where there was one. */
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
