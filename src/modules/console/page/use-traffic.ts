/**
 * The entries of the traffic page: first those that the daemon remembers, then what comes. Without
 * filters an event brings them; with filters it is the sign to ask for what came since, so that
 * the daemon alone decides which entries meet them.
 */
import type { Agent, TrafficAnswer, TrafficEntry } from "../answers.ts";
import { type ApiError, asApiError, get, useApi } from "./api.ts";
import { useEvents } from "./events.ts";
import { html, useEffect, useMemo, useRef, useState, type VNode } from "./preact.ts";
import { replaceQuery } from "./router.ts";
import { visible } from "./text.ts";

/** Entries that the page keeps; the oldest go first. */
const MAX_KEPT = 100_000;

interface Traffic {
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
  const { entries, error, ask, add } = useEntries(wanted);
  const { isPaused, held, hold, toggle } = usePause(wanted);
  const [skipped, setSkipped] = useState(0);
  useEvents("open", () => ask(hold));
  useEvents("traffic", (event) => {
    setSkipped((count) => count + event.skipped);
    if (wanted !== "") ask(hold);
    else if (!hold(event.entries)) add(event.entries);
  });
  const change = (next: TrafficFilters): void => {
    replaceQuery(addressQuery(next));
    setFilters(next);
  };
  const known = agents.data?.agents;
  const names = useMemo(() => new Map(known?.map((one) => [one.agent_id, one.name])), [known]);
  return {
    ...{ entries, error, isPaused, held: held.length, skipped, filters, names },
    pause: () => add(toggle()),
    setFilters: change,
  };
}

/** Entries that meet a query; an earlier one's are none of it. */
interface Found {
  readonly query: string | undefined;
  readonly entries: readonly TrafficEntry[];
  /** The daemon has listed those that it remembers. */
  readonly isListed: boolean;
  readonly error?: ApiError;
}

/** Keeps a pause: entries that come meanwhile are held, and are none of another query. */
function usePause(query: string | undefined) {
  const [held, setHeld] = useState<readonly TrafficEntry[]>([]);
  const [isPaused, setPaused] = useState(false);
  // Answers come later than the function that asked was made.
  const latest = useRef(false);
  useEffect(() => setHeld([]), [query]);
  /** Answers whether it has taken them. */
  const hold = (fresh: readonly TrafficEntry[]): boolean => {
    if (latest.current) setHeld((before) => merge(before, fresh));
    return latest.current;
  };
  /** Answers what was held until now. */
  const toggle = (): readonly TrafficEntry[] => {
    latest.current = !latest.current;
    setPaused(latest.current);
    setHeld([]);
    return held;
  };
  return { isPaused, held, hold, toggle };
}

/** The entries that meet a query, from the newest. */
function useEntries(query: string | undefined) {
  const [found, setFound] = useState<Found>(() => nothingFound(query));
  const current = useRef(query);
  current.current = query;
  /** Changes what is found of the query, unless another has taken its place. */
  const update = (change: (known: Found) => Found): void => {
    if (current.current !== query) return;
    setFound((known) => change(known.query === query ? known : nothingFound(query)));
  };
  const add = (fresh: readonly TrafficEntry[]): void =>
    update((known) => ({ ...known, entries: merge(known.entries, fresh) }));
  const { entries, isListed, error } = found.query === query ? found : nothingFound(query);
  /** Asks for what came since, and adds it unless somebody takes it. */
  const ask = (isTaken: (fresh: readonly TrafficEntry[]) => boolean = () => false): void => {
    if (query === undefined) return;
    const after = isListed ? (entries[0]?.number ?? 0) : 0;
    get<TrafficAnswer>(`/api/traffic?${query}&after=${after}`).then(
      ({ entries: fresh }) => {
        if (current.current !== query || isTaken(fresh)) return;
        update((known) => ({ query, entries: merge(known.entries, fresh), isListed: true }));
      },
      // Where there is a list, the next event asks again.
      (fault: unknown) =>
        update((known) => (known.isListed ? known : { ...known, error: asApiError(fault) })),
    );
  };
  useEffect(() => ask(), [query]);
  return { entries: isListed ? entries : undefined, error, add, ask };
}

function nothingFound(query: string | undefined): Found {
  return { query, entries: [], isListed: false };
}

/** Two lists as one, the newest first, each entry once; of what is too much the oldest go. */
function merge(known: readonly TrafficEntry[], fresh: readonly TrafficEntry[]): TrafficEntry[] {
  const newest = known[0]?.number ?? 0;
  // Mostly all that is fresh comes behind what is known.
  const isLater = fresh.every(({ number }) => number > newest);
  const numbers = new Set(isLater ? [] : known.map(({ number }) => number));
  const others = fresh.filter(({ number }) => !numbers.has(number));
  others.sort((a, b) => b.number - a.number);
  const all = [...others, ...known];
  if (!isLater) all.sort((a, b) => b.number - a.number);
  return all.slice(0, MAX_KEPT);
}

/** The filters by their names in the interface; an empty text lets all pass. */
type TrafficFilters = Readonly<Record<FilterName, string>>;

type FilterName = "agent" | "method" | "path" | "status" | "gate" | "since";

const FIELDS: readonly {
  readonly name: FilterName;
  readonly label: string;
  readonly more?: object;
}[] = [
  {
    name: "agent",
    label: "Agent",
    more: { list: "agents-known", placeholder: "name or Agent-ID" },
  },
  { name: "method", label: "Method", more: { placeholder: "BOOK", autocapitalize: "characters" } },
  { name: "path", label: "Path", more: { placeholder: "begins with" } },
  { name: "status", label: "Status", more: { inputmode: "numeric", placeholder: "455" } },
  { name: "gate", label: "Gate", more: { placeholder: "scope" } },
  { name: "since", label: "Since", more: { type: "datetime-local", step: "1" } },
];

function filtersOf(query: URLSearchParams): TrafficFilters {
  const entries = FIELDS.map(({ name }) => [name, query.get(name) ?? ""] as const);
  return Object.fromEntries(entries) as TrafficFilters;
}

/** The filters that are set, for the address bar. */
function addressQuery(filters: TrafficFilters): URLSearchParams {
  return new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== ""));
}

/** The filters as the interface reads them: an agent by its id, a time in RFC 3339. */
function apiQuery(filters: TrafficFilters, agents: readonly Agent[]): URLSearchParams {
  const query = addressQuery(filters);
  const named = agents.find(({ name }) => [name, visible(name)].includes(filters.agent));
  if (named !== undefined) query.set("agent", named.agent_id);
  const since = new Date(filters.since);
  if (filters.since !== "" && !Number.isNaN(since.getTime())) {
    query.set("since", since.toISOString());
  }
  return query;
}

/**
 * The fields; a change counts once a field is left or Enter is pressed. What is being typed stays,
 * whatever the page draws anew meanwhile.
 */
export function Filters(props: {
  readonly filters: TrafficFilters;
  readonly onChange: (filters: TrafficFilters) => void;
}): VNode {
  const { filters, onChange } = props;
  const { data } = useApi<{ readonly agents: readonly Agent[] }>("/api/agents");
  const [form, setForm] = useState<HTMLFormElement | null>(null);
  const [typed, setTyped] = useState(filters);
  useEffect(() => setTyped(filters), [filters]);
  const type = (event: Event): void => {
    const { name, value } = event.target as HTMLInputElement;
    setTyped((before) => ({ ...before, [name]: value }));
  };
  const apply = (event: Event): void => {
    event.preventDefault();
    if (form !== null) onChange(readForm(form));
  };
  const clear = (): void => onChange(filtersOf(new URLSearchParams()));
  const isSet = Object.values(filters).some((value) => value !== "");
  return html`<form class="filters" ref=${setForm} onSubmit=${apply} onInput=${type} onChange=${apply} aria-label="Filters">
    ${FIELDS.map(
      ({
        name,
        label,
        more,
      }) => html`<label key=${name} class="field" for=${`filter-${name}`}>${label}
        <input id=${`filter-${name}`} name=${name} value=${typed[name]} autocomplete="off" spellcheck=${false} ...${more} />
      </label>`,
    )}
    <datalist id="agents-known">${data?.agents.map((agent) => html`<option key=${agent.agent_id} value=${visible(agent.name)}></option>`)}</datalist>
    <div class="buttons"><button type="submit">Filter</button>
      ${isSet && html`<button type="button" onClick=${clear}>Clear</button>`}</div>
  </form>`;
}

function readForm(form: HTMLFormElement): TrafficFilters {
  const data = new FormData(form);
  const entries = FIELDS.map(({ name }) => [name, String(data.get(name) ?? "").trim()] as const);
  return Object.fromEntries(entries) as TrafficFilters;
}
