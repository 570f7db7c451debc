/** The filters of the traffic, by their labels; they stand in the address, so that they can be kept. */
import type { Agent } from "../answers.ts";
import { html, useState, type VNode } from "../preact.ts";
import { visible } from "../text.ts";
import { useApi } from "../use-api.ts";

/** The filters by their names in the interface; an empty text lets all pass. */
export type TrafficFilters = Readonly<Record<FilterName, string>>;

export type FilterName = "agent" | "method" | "path" | "status" | "gate" | "since";

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

/** The filters of an address. */
export function filtersOf(query: URLSearchParams): TrafficFilters {
  const entries = FIELDS.map(({ name }) => [name, query.get(name) ?? ""] as const);
  return Object.fromEntries(entries) as TrafficFilters;
}

/** The filters that are set, for the address bar. */
export function addressQuery(filters: TrafficFilters): URLSearchParams {
  return new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== ""));
}

/** The filters as the interface reads them: an agent by its id, a time in RFC 3339. */
export function apiQuery(filters: TrafficFilters, agents: readonly Agent[]): URLSearchParams {
  const query = addressQuery(filters);
  const named = agents.find(({ name }) => [name, visible(name)].includes(filters.agent));
  if (named !== undefined) query.set("agent", named.agent_id);
  const since = new Date(filters.since);
  if (filters.since !== "" && !Number.isNaN(since.getTime())) {
    query.set("since", since.toISOString());
  }
  return query;
}

/** The fields; a change counts once a field is left or Enter is pressed. */
export function Filters(props: {
  readonly filters: TrafficFilters;
  readonly onChange: (filters: TrafficFilters) => void;
}): VNode {
  const { filters, onChange } = props;
  const { data } = useApi<{ readonly agents: readonly Agent[] }>("/api/agents");
  const [form, setForm] = useState<HTMLFormElement | null>(null);
  const apply = (event: Event): void => {
    event.preventDefault();
    if (form !== null) onChange(readForm(form));
  };
  const clear = (): void => onChange(filtersOf(new URLSearchParams()));
  const isSet = Object.values(filters).some((value) => value !== "");
  return html`<form class="filters" ref=${setForm} onSubmit=${apply} onChange=${apply} aria-label="Filters">
    ${FIELDS.map(
      ({
        name,
        label,
        more,
      }) => html`<label key=${name} class="field" for=${`filter-${name}`}>${label}
        <input id=${`filter-${name}`} name=${name} value=${filters[name]} autocomplete="off" spellcheck=${false} ...${more} />
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
