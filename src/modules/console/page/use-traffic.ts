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
  readonly ask: () => void;
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

/** Entries that meet a query; an earlier one's are none of it. */
interface Found {
  readonly query: string | undefined;
  readonly list: TrafficAnswer;
  readonly error?: ApiError;
}

/** Before the daemon has listed anything. */
const UNLISTED: TrafficAnswer = { epoch: "", entries: [] };

/** Keeps a pause: entries that come meanwhile are held, and are none of another query. */
function usePause(query: string | undefined, epoch: string) {
  const [held, setHeld] = useState(UNLISTED);
  const [isPaused, setPaused] = useState(false);
  // Answers come later than the function that asked was made.
  const latest = useRef(false);
  useEffect(() => setHeld(UNLISTED), [query, epoch]);
  /** Answers whether it has taken them. */
  const hold = (fresh: TrafficAnswer): boolean => {
    if (latest.current) setHeld((before) => merge(before, fresh));
    return latest.current;
  };
  /** Answers what was held until now. */
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
  /** Changes what is found of the query, unless another has taken its place. */
  const update = (change: (known: Found) => Found): void => {
    if (current.current !== query) return;
    setFound((known) => change(known.query === query ? known : { query, list: UNLISTED }));
  };
  const add = (fresh: TrafficAnswer): void =>
    update(({ list }) => ({ query, list: merge(list, fresh) }));
  const { list, error }: Found = found.query === query ? found : { query, list: UNLISTED };
  const { epoch, entries } = list;
  const underWay = useRef<Question | undefined>(undefined);
  /** Asks for what came since, and adds it unless somebody takes it; one question at a time. */
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
          // A pause is of what comes to a list, and not of the list.
          if (current.current === query && !(epoch === fresh.epoch && isTaken(fresh))) add(fresh);
        },
        // Where there is a list, the next event asks again.
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

/** A question on its way; the daemon has had news since if it is repeated. */
interface Question {
  readonly query: string;
  isRepeated: boolean;
}

/**
 * Two lists as one, the newest first, each entry once; of what is too much the oldest go. A daemon that
 * was started anew counts anew, and knows nothing of what was before.
 */
function merge(known: TrafficAnswer, fresh: TrafficAnswer): TrafficAnswer {
  if (known.epoch !== fresh.epoch) return fresh === UNLISTED ? known : fresh;
  const newest = known.entries[0]?.number ?? 0;
  // Mostly all that is fresh comes behind what is known.
  const isLater = fresh.entries.every(({ number }) => number > newest);
  const numbers = new Set(isLater ? [] : known.entries.map(({ number }) => number));
  const others = fresh.entries.filter(({ number }) => !numbers.has(number));
  if (others.length === 0) return known;
  others.sort((a, b) => b.number - a.number);
  const all = [...others, ...known.entries];
  if (!isLater) all.sort((a, b) => b.number - a.number);
  return { epoch: known.epoch, entries: all.slice(0, MAX_KEPT) };
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
  const filters = Object.fromEntries(entries) as TrafficFilters;
  return { ...filters, since: localText(filters.since) };
}

/** The filters that are set, for the address bar, which people elsewhere may be given: a time in RFC 3339. */
function addressQuery(filters: TrafficFilters): URLSearchParams {
  const since = new Date(filters.since);
  const all = { ...filters, since: Number.isNaN(since.getTime()) ? "" : since.toISOString() };
  return new URLSearchParams(Object.entries(all).filter(([, value]) => value !== ""));
}

/** A time as the field has it, in the reader's own zone; empty for what is none. */
function localText(time: string): string {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** The filters as the interface reads them: an agent by its id. */
function apiQuery(filters: TrafficFilters, agents: readonly Agent[]): URLSearchParams {
  const query = addressQuery(filters);
  const named = agents.find(({ name }) => [name, visible(name)].includes(filters.agent));
  if (named !== undefined) query.set("agent", named.agent_id);
  return query;
}

/**
 * The fields; a change counts once a field is left or Enter is pressed. What is being typed stays,
 * whatever the page draws anew meanwhile.
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
