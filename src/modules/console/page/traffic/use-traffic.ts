/**
 * The entries of the traffic page: first those that the daemon remembers, then what comes. Without
 * filters an event brings them; with filters it is the sign to ask for what came since, so that
 * the daemon alone decides which entries meet them.
 */

import type { Agent, TrafficAnswer, TrafficEntry } from "../answers.ts";
import { type ApiError, get } from "../api.ts";
import { type EventKinds, useEvents } from "../events.ts";
import { useEffect, useMemo, useRef, useState } from "../preact.ts";
import { replaceQuery } from "../router.ts";
import { asApiError, useApi } from "../use-api.ts";
import { addressQuery, apiQuery, filtersOf, type TrafficFilters } from "./filters.ts";

/** Entries that the page keeps; the oldest go first. */
const MAX_KEPT = 100_000;

/** The traffic as the page shows it. */
export interface Traffic {
  readonly entries: readonly TrafficEntry[] | undefined;
  readonly error: ApiError | undefined;
  readonly isPaused: boolean;
  /** Entries that came since the pause. */
  readonly held: number;
  /** Entries that the daemon left out, as there were too many at once. */
  readonly skipped: number;
  readonly pause: () => void;
  readonly filters: TrafficFilters;
  /** Names of the agents of this server, by their ids. */
  readonly names: ReadonlyMap<string, string>;
  readonly setFilters: (filters: TrafficFilters) => void;
}

/** Follows the traffic. */
export function useTraffic(query: URLSearchParams): Traffic {
  const [filters, setFilters] = useState(() => filtersOf(query));
  const agents = useApi<{ readonly agents: readonly Agent[] }>("/api/agents");
  const isNamed = filters.agent !== "";
  const isReady = !isNamed || agents.data !== undefined || agents.error !== undefined;
  const wanted = isReady ? apiQuery(filters, agents.data?.agents ?? []).toString() : undefined;
  const { entries, error, add } = useEntries(wanted);
  const [isPaused, setPaused] = useState(false);
  const held = useRef<TrafficEntry[]>([]);
  const [heldCount, setHeldCount] = useState(0);
  const [skipped, setSkipped] = useState(0);
  useEvents("traffic", (event) => {
    setSkipped((count) => count + event.skipped);
    void newEntries(event, wanted, entries?.[0]?.number ?? 0).then((fresh) => {
      if (!isPaused) return add(fresh);
      held.current = merge(held.current, fresh);
      setHeldCount(held.current.length);
    });
  });
  const pause = (): void => {
    if (isPaused) add(held.current);
    held.current = [];
    setHeldCount(0);
    setPaused(!isPaused);
  };
  const change = (next: TrafficFilters): void => {
    replaceQuery(addressQuery(next));
    held.current = [];
    setHeldCount(0);
    setFilters(next);
  };
  const known = agents.data?.agents;
  const names = useMemo(() => new Map(known?.map((one) => [one.agent_id, one.name])), [known]);
  return {
    ...{ entries, error, isPaused, held: heldCount, skipped, pause, filters, names },
    setFilters: change,
  };
}

/** The entries that meet a query, from the newest. */
function useEntries(query: string | undefined) {
  const [entries, setEntries] = useState<readonly TrafficEntry[] | undefined>(undefined);
  const [error, setError] = useState<ApiError | undefined>(undefined);
  useEffect(() => {
    if (query === undefined) return;
    const abort = new AbortController();
    setEntries(undefined);
    setError(undefined);
    get<TrafficAnswer>(`/api/traffic?${query}`, abort.signal).then(
      (answer) => setEntries((known) => merge(known ?? [], answer.entries)),
      (fault: unknown) => {
        if (!abort.signal.aborted) setError(asApiError(fault));
      },
    );
    return () => abort.abort();
  }, [query]);
  const add = (fresh: readonly TrafficEntry[]): void =>
    setEntries((known) => (known === undefined ? known : merge(known, fresh)));
  return { entries, error, add };
}

async function newEntries(
  event: EventKinds["traffic"],
  query: string | undefined,
  newest: number,
): Promise<readonly TrafficEntry[]> {
  if (query === undefined || query === "") return event.entries;
  const path = `/api/traffic?${query}&after=${newest}`;
  const answer = await get<TrafficAnswer>(path).catch(() => undefined);
  return answer?.entries ?? [];
}

/** Two lists as one, the newest first, each entry once. */
function merge(known: readonly TrafficEntry[], fresh: readonly TrafficEntry[]): TrafficEntry[] {
  const newest = known[0]?.number ?? 0;
  const later = fresh.filter(({ number }) => number > newest);
  later.sort((a, b) => b.number - a.number);
  return [...later, ...known].slice(0, MAX_KEPT);
}
