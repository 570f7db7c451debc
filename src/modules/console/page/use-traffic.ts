/**
 * Entries of the traffic page: first those that the daemon remembers, then new ones. Without filters the events carry
 * them; with filters an event triggers a request, so that the daemon alone applies the filters.
 */
import type { Agent, TrafficAnswer, TrafficEntry } from "../answers.ts";
import { type ApiError, asApiError, get, useApi } from "./api.ts";
import { useEvents } from "./events.ts";
import { html, useEffect, useMemo, useRef, useState, type VNode } from "./preact.ts";
import { replaceQuery } from "./router.ts";
import { visible } from "./text.ts";

/** Maximal number of entries on the page; the oldest are dropped. */
const MAX_KEPT = 100_000;

interface Traffic {
  readonly entries: readonly TrafficEntry[] | undefined;
  readonly error: ApiError | undefined;
  readonly isPaused: boolean;
  /** The number of entries since the pause. */
  readonly held: number;
  /** The number of entries that the daemon left out, since there were too many at once. */
  readonly skipped: number;
  readonly pause: () => void;
  readonly ask: () => void;
  readonly filters: TrafficFilters;
  /** Names of this server's agents by id. */
  readonly names: ReadonlyMap<string, string>;
  readonly setFilters: (filters: TrafficFilters) => void;
}

/** Follows the traffic that meets a query. */
export function useTraffic(query: URLSearchParams): Traffic {
  const [filters, setFilters] = useState(() => filtersOf(query));
  const agents = useApi<{ readonly agents: readonly Agent[] }>("/api/agents");
  const isNamed = filters.agent !== "";
  const isReady = !isNamed || agents.data !== undefined || agents.error !== undefined;
  const wanted = isReady ? apiQuery(filters, agents.data?.agents ?? []).toString() : undefined;
  const { entries, error, epoch, ask, add } = useEntries(wanted);
  const { isPaused, held, hold, toggle } = usePause(wanted, epoch);
  const [skipped, setSkipped] = useState(0);
  useEffect(() => setSkipped(0), [wanted, epoch]);
  useEvents("open", () => ask(hold));
  useEvents("traffic", (event) => {
    if (wanted !== "" || event.epoch !== epoch) return ask(hold);
    setSkipped((count) => count + event.skipped);
    if (!hold(event)) add(event);
  });
  const change = (next: TrafficFilters): void => {
    replaceQuery(addressQuery(next));
    setFilters(next);
  };
  const known = agents.data?.agents;
  const names = useMemo(() => new Map(known?.map((one) => [one.agent_id, one.name])), [known]);
  return {
    ...{ entries, error, isPaused, held: held.entries.length, skipped, filters, names },
    pause: () => add(toggle()),
    ask: () => ask(hold),
    setFilters: change,
  };
}

/** The entries of one query; those of an earlier query are dropped. */
interface Found {
  readonly query: string | undefined;
  readonly list: TrafficAnswer;
  readonly error?: ApiError;
}

/** The list before the first response. */
const UNLISTED: TrafficAnswer = { epoch: "", entries: [] };

/** Manages the pause: entries that arrive meanwhile are held, and dropped if the query changes. */
function usePause(query: string | undefined, epoch: string) {
  const [held, setHeld] = useState(UNLISTED);
  const [isPaused, setPaused] = useState(false);
  // A response may arrive after a later render, so it reads the current state here.
  const latest = useRef(false);
  useEffect(() => setHeld(UNLISTED), [query, epoch]);
  /** Holds entries during a pause; returns false otherwise. */
  const hold = (fresh: TrafficAnswer): boolean => {
    if (latest.current) setHeld((before) => merge(before, fresh));
    return latest.current;
  };
  /** Starts or ends the pause; returns the entries that were held. */
  const toggle = (): TrafficAnswer => {
    latest.current = !latest.current;
    setPaused(latest.current);
    setHeld(UNLISTED);
    return held;
  };
  return { isPaused, held, hold, toggle };
}

function useEntries(query: string | undefined) {
  const [found, setFound] = useState<Found>({ query, list: UNLISTED });
  const current = useRef(query);
  current.current = query;
  /** Changes the entries of the query, unless another query has replaced it. */
  const update = (change: (known: Found) => Found): void => {
    if (current.current !== query) return;
    setFound((known) => change(known.query === query ? known : { query, list: UNLISTED }));
  };
  const add = (fresh: TrafficAnswer): void =>
    update(({ list }) => ({ query, list: merge(list, fresh) }));
  const { list, error }: Found = found.query === query ? found : { query, list: UNLISTED };
  const { epoch, entries } = list;
  const underWay = useRef<Question | undefined>(undefined);
  /** Requests later entries and adds them, unless `isTaken` returns true; one request at a time. */
  const ask = (isTaken: (fresh: TrafficAnswer) => boolean = () => false): void => {
    if (query === undefined) return;
    if (underWay.current?.query === query) {
      underWay.current.isRepeated = true;
      return;
    }
    const question: Question = { query, isRepeated: false };
    underWay.current = question;
    const since = new URLSearchParams({ epoch, after: String(entries[0]?.number ?? 0) });
    get<TrafficAnswer>(`/api/traffic?${query}&${since}`)
      .then(
        (fresh) => {
          // A pause holds additions to a list, and not the list itself.
          if (current.current === query && !(epoch === fresh.epoch && isTaken(fresh))) add(fresh);
        },
        // With a list on the page, the next event triggers another request.
        (fault: unknown) =>
          update((known) =>
            known.list === UNLISTED ? { ...known, error: asApiError(fault) } : known,
          ),
      )
      .finally(() => {
        if (underWay.current === question) underWay.current = undefined;
        if (question.isRepeated) latest.current(isTaken);
      });
  };
  const latest = useRef(ask);
  latest.current = ask;
  useEffect(() => ask(), [query]);
  return { entries: list === UNLISTED ? undefined : entries, error, epoch, add, ask };
}

/** A pending request; `isRepeated` if events arrived since. */
interface Question {
  readonly query: string;
  isRepeated: boolean;
}

/**
 * Merges two lists, newest first, each entry once; beyond the maximum the oldest are dropped. A restarted daemon
 * numbers anew, so its list replaces the known one.
 */
function merge(known: TrafficAnswer, fresh: TrafficAnswer): TrafficAnswer {
  if (known.epoch !== fresh.epoch) return fresh === UNLISTED ? known : fresh;
  const newest = known.entries[0]?.number ?? 0;
  // Usually every new entry follows the known ones.
  const isLater = fresh.entries.every(({ number }) => number > newest);
  const numbers = new Set(isLater ? [] : known.entries.map(({ number }) => number));
  const others = fresh.entries.filter(({ number }) => !numbers.has(number));
  if (others.length === 0) return known;
  others.sort((a, b) => b.number - a.number);
  const all = [...others, ...known.entries];
  if (!isLater) all.sort((a, b) => b.number - a.number);
  return { epoch: known.epoch, entries: all.slice(0, MAX_KEPT) };
}

/** The filters by their API names; an empty text matches everything. */
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
  const filters = Object.fromEntries(entries) as TrafficFilters;
  return { ...filters, since: localText(filters.since) };
}

/** The filters for the address bar, whose address may be shared: times are in RFC 3339. */
function addressQuery(filters: TrafficFilters): URLSearchParams {
  const since = new Date(filters.since);
  const all = { ...filters, since: Number.isNaN(since.getTime()) ? "" : since.toISOString() };
  return new URLSearchParams(Object.entries(all).filter(([, value]) => value !== ""));
}

/** A time for the input field, in the reader's zone; empty if invalid. */
function localText(time: string): string {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** The filters for the API, which takes an agent by its id. */
function apiQuery(filters: TrafficFilters, agents: readonly Agent[]): URLSearchParams {
  const query = addressQuery(filters);
  const named = agents.find(({ name }) => [name, visible(name)].includes(filters.agent));
  if (named !== undefined) query.set("agent", named.agent_id);
  return query;
}

/**
 * The filter fields; a change applies once a field is left or Enter is pressed. Text being typed survives redrawing.
 */
export function Filters(props: {
  readonly filters: TrafficFilters;
  readonly names: Traffic["names"];
  readonly onChange: (filters: TrafficFilters) => void;
}): VNode {
  const { filters, names, onChange } = props;
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
    <datalist id="agents-known">${Array.from(names, ([id, name]) => html`<option key=${id} value=${visible(name)}></option>`)}</datalist>
    <div class="buttons"><button type="submit">Filter</button>
      ${isSet && html`<button type="button" onClick=${clear}>Clear</button>`}</div>
  </form>`;
}

function readForm(form: HTMLFormElement): TrafficFilters {
  const data = new FormData(form);
  const entries = FIELDS.map(({ name }) => [name, String(data.get(name) ?? "").trim()] as const);
  return Object.fromEntries(entries) as TrafficFilters;
}
