/** The whole console: session, navigation, and the page of the address. */
import type { Overview } from "../answers.ts";
import {
  asApiError,
  rememberSession,
  renewSession,
  type Session,
  session,
  signOut,
  useApi,
} from "./api.ts";
import { keepDraftsOf } from "./drafts.ts";
import { useEvents } from "./events.ts";
import { AccountPage } from "./pages/account.ts";
import { AgentPage, AgentsPage } from "./pages/agents.ts";
import { ApprovalPage, ApprovalsPage, ContractsPage } from "./pages/approvals.ts";
import { EndpointPage, EndpointsPage } from "./pages/endpoints.ts";
import { NodesPage, OverviewPage } from "./pages/overview.ts";
import { ChainPage, RecordsPage } from "./pages/records.ts";
import { TrafficEntryPage, TrafficPage } from "./pages/traffic.ts";
import { UpstreamsPage } from "./pages/upstreams.ts";
import { Moment } from "./parts/facts.ts";
import { Notice, Page, Pending, say } from "./parts/page.ts";
import { html, useEffect, useErrorBoundary, useRef, useState, type VNode } from "./preact.ts";
import { type Place, segmentsOf, usePlace } from "./router.ts";
import { visible } from "./text.ts";

const ICON = new URL("icon.svg", import.meta.url).pathname;

/** The console of the signed-in person. */
export function App(): VNode {
  const { data, error } = useApi<Session>("/api/session");
  if (data === undefined) return html`<main class="alone"><${Pending} error=${error} /></main>`;
  rememberSession(data);
  keepDraftsOf(data.id);
  return html`<${Signed} session=${data} />`;
}

function Signed({ session }: { readonly session: Session }): VNode {
  const place = usePlace();
  useFocusOnHeading(place.path);
  return html`<a class="skip" href="#main">Skip to the page</a>
    <${Top} session=${session} />
    <div class="frame">
      <${Navigation} path=${place.path} />
      <main id="main" tabindex="-1">
        ${session.inspect_only && html`<p class="warning" role="note">The daemon was not started. Its records can be looked at, and nothing can be changed.</p>`}
        <${Staleness} />
        <${Notice} key=${place.path} />
        <${Guarded} key=${place.visit} place=${place} />
      </main>
    </div>`;
}

function Top({ session }: { readonly session: Session }): VNode {
  return html`<header class="top">
    <a class="brand" href="/"><img src=${ICON} alt="" width="28" height="28" /> <strong>agtpd</strong> <bdi>${visible(session.server_id)}</bdi></a>
    <span class="who"><a href="/account"><bdi>${visible(session.name)}</bdi></a> <span class="badge">${session.role}</span></span>
    <button type="button" onClick=${logOut}>Log out</button>
  </header>`;
}

function logOut(): void {
  signOut().catch((error: unknown) => say(`Log out failed: ${asApiError(error).message}`, true));
}

/** Warns if the page is no longer up to date. */
function Staleness(): VNode {
  const [since, setSince] = useState<string | undefined>(undefined);
  const [outdated, setOutdated] = useState<string | undefined>(undefined);
  const isFirst = useRef(true);
  useEvents("heard", (isHeard) => setSince(isHeard ? undefined : new Date().toISOString()));
  useEvents("open", () => {
    if (!isFirst.current) renewSession().then(setOutdated, () => undefined);
    isFirst.current = false;
  });
  const reload = (): void => location.reload();
  return html`<div role="status" class="notice">
    ${since !== undefined && html`<p class="warning">Nothing is heard of the daemon. What is shown is from <${Moment} at=${since} /> or before.</p>`}
    ${outdated !== undefined && html`<p class="warning">${visible(outdated)} <button type="button" onClick=${reload}>Load the page again</button></p>`}
  </div>`;
}

function Navigation({ path }: { readonly path: string }): VNode {
  const { data } = useApi<Overview>("/api/overview");
  const [waiting, setWaiting] = useState<number | undefined>(undefined);
  useEvents("approvals", (event) => setWaiting(event.waiting));
  const count = waiting ?? data?.waiting ?? 0;
  const list = useRef<HTMLElement | null>(null);
  useEffect(() => {
    // On a telephone the entries form one scrolling row.
    const entry = list.current?.querySelector<HTMLElement>("[aria-current]");
    if (entry && list.current) list.current.scrollLeft = entry.offsetLeft - 64;
  }, [path]);
  return html`<nav aria-label="Pages"><ul ref=${list}>
    ${entriesOf(session()).map((entry) => {
      const current = isWithin(path, entry) ? "page" : undefined;
      const badge = entry.path === "/approvals" && count > 0;
      return html`<li key=${entry.path}><a href=${entry.path} aria-current=${current}>${entry.name}${
        badge && html` <span class="count">${count}<span class="unseen"> waiting</span></span>`
      }</a></li>`;
    })}
  </ul></nav>`;
}

/** A page; an error in it leaves the navigation usable. */
function Guarded({ place }: { readonly place: Place }): VNode {
  const [error] = useErrorBoundary();
  if (error === undefined) return pageOf(place);
  const reload = (): void => location.reload();
  return html`<h1 tabindex="-1">This page failed</h1>
    <${Pending} error=${asApiError(error)} reload=${reload} />`;
}

/** Focuses the heading of a page after navigating to it. */
function useFocusOnHeading(path: string): void {
  const before = useRef(path);
  useEffect(() => {
    if (before.current === path) return;
    before.current = path;
    scrollTo(0, 0);
    document.querySelector<HTMLElement>("h1")?.focus();
  }, [path]);
}

/** The list page at an address, and the pages directly below it. */
interface Entry {
  /** Undefined if the navigation does not list it. */
  readonly name?: string;
  readonly path: string;
  readonly list: (props: { readonly query: URLSearchParams }) => VNode;
  readonly one?: (props: { readonly id: string }) => VNode;
}

const ENTRIES: readonly Entry[] = [
  { name: "Overview", path: "/", list: OverviewPage },
  { name: "Traffic", path: "/traffic", list: TrafficPage, one: TrafficEntryPage },
  { name: "Approvals", path: "/approvals", list: ApprovalsPage, one: ApprovalPage },
  { name: "Agents", path: "/agents", list: AgentsPage, one: AgentPage },
  { name: "Endpoints", path: "/endpoints", list: EndpointsPage },
  { name: "Contracts", path: "/contracts", list: ContractsPage },
  { name: "Records", path: "/records", list: RecordsPage, one: ChainPage },
  { name: "Upstreams", path: "/upstreams", list: UpstreamsPage },
  { name: "Nodes", path: "/nodes", list: NodesPage },
  { path: "/account", list: AccountPage },
];

/** Pages that exist while the daemon is not started. */
const OF_INSPECTION: ReadonlySet<string> = new Set(["/", "/records"]);

function entriesOf({ inspect_only }: Session): readonly Entry[] {
  return ENTRIES.filter(
    ({ name, path }) => name !== undefined && (!inspect_only || OF_INSPECTION.has(path)),
  );
}

/** True if an entry of the navigation leads to the page or to the list above it. */
function isWithin(path: string, entry: Entry): boolean {
  return path === entry.path || (entry.path !== "/" && path.startsWith(`${entry.path}/`));
}

/** The page of an address; an endpoint's address continues with its own path after the method. */
function pageOf({ path, query }: Place): VNode {
  const [first = "", id, ...rest] = segmentsOf(path);
  if (first === "endpoints" && id !== undefined) {
    const tail = path.slice("/endpoints/".length);
    return html`<${EndpointPage} tail=${tail} />`;
  }
  const { list, one } = ENTRIES.find((entry) => entry.path === `/${first}`) ?? {};
  if (id === undefined && list !== undefined) {
    return html`<${list} query=${query} />`;
  }
  if (id === undefined || one === undefined || rest.length > 0) return html`<${MissingPage} />`;
  return html`<${one} id=${id} />`;
}

function MissingPage(): VNode {
  return html`<${Page} name="Not found">
    <p role="alert">There is no page at this address. <a href="/">Go to the overview</a>.</p>
  <//>`;
}
