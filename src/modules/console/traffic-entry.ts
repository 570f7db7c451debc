/** One request of the traffic: as it is kept, as it is shown, and the conditions of a look. */

/** One request that was answered. */
export interface TrafficEntry {
  /** Counts up; a page that has seen one asks for what came later. */
  readonly number: number;
  readonly response_id: string;
  /** RFC 3339. */
  readonly at: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly duration_ms: number;
  readonly agent_id: string | null;
  /** The name of the person who asked, beside an agent or without one. */
  readonly operator: string | null;
  /** The gate that refused it, and the code; null for what was answered. */
  readonly gate: string | null;
  readonly code: string | null;
}

/** The conditions of a look; each that is absent lets all pass. */
export interface TrafficFilter {
  readonly agent?: string;
  readonly method?: string;
  readonly path?: string;
  readonly status?: number;
  readonly gate?: string;
  /** Milliseconds since the epoch. */
  readonly since?: number;
  readonly after?: number;
}

/** A request as the ring keeps it. */
export interface Fact {
  readonly number: number;
  readonly responseId: string;
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly durationMs: number;
  readonly agentId: string | undefined;
  readonly operator: string | undefined;
  readonly gate: string | undefined;
  readonly code: string | undefined;
}

/** Tells whether a request meets the conditions. */
export function meets(fact: Fact, filter: TrafficFilter): boolean {
  const { agent, method, path, status, gate, since } = filter;
  return (
    (agent === undefined || fact.agentId === agent) &&
    (method === undefined || fact.method === method) &&
    (path === undefined || fact.path.startsWith(path)) &&
    (status === undefined || fact.status === status) &&
    (gate === undefined || fact.gate === gate) &&
    (since === undefined || fact.at >= since)
  );
}

/** A request as it is shown. */
export function entryOf(fact: Fact): TrafficEntry {
  const { number, responseId, at, method, path, status, durationMs, agentId, ...more } = fact;
  const { operator, gate, code } = more;
  return {
    ...{ number, response_id: responseId, at: new Date(at).toISOString(), method, path, status },
    ...{ duration_ms: rounded(durationMs), agent_id: agentId ?? null },
    operator: operator ?? null,
    ...{ gate: gate ?? null, code: code ?? null },
  };
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
