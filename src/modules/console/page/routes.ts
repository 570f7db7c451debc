/** The pages by their addresses, in the order in which the navigation lists them. */
import type { Session } from "./api.ts";
import { AccountPage } from "./pages/account.ts";
import { AgentPage } from "./pages/agent.ts";
import { AgentsPage } from "./pages/agents.ts";
import { ApprovalPage } from "./pages/approval.ts";
import { ApprovalsPage } from "./pages/approvals.ts";
import { ChainPage } from "./pages/chain.ts";
import { ContractsPage } from "./pages/contracts.ts";
import { EndpointPage } from "./pages/endpoint.ts";
import { EndpointsPage } from "./pages/endpoints.ts";
import { NodesPage } from "./pages/nodes.ts";
import { OverviewPage } from "./pages/overview.ts";
import { RecordsPage } from "./pages/records.ts";
import { TrafficPage } from "./pages/traffic.ts";
import { TrafficEntryPage } from "./pages/traffic-entry.ts";
import { UpstreamsPage } from "./pages/upstreams.ts";
import { Page } from "./parts/page.ts";
import { html, type VNode } from "./preact.ts";
import { type Place, segmentsOf } from "./router.ts";

/** One entry of the navigation. */
export interface Entry {
  readonly name: string;
  readonly path: string;
}

const ENTRIES: readonly Entry[] = [
  { name: "Overview", path: "/" },
  { name: "Traffic", path: "/traffic" },
  { name: "Approvals", path: "/approvals" },
  { name: "Agents", path: "/agents" },
  { name: "Endpoints", path: "/endpoints" },
  { name: "Contracts", path: "/contracts" },
  { name: "Records", path: "/records" },
  { name: "Upstreams", path: "/upstreams" },
  { name: "Nodes", path: "/nodes" },
];

/** Pages that are there while the daemon is not. */
const OF_INSPECTION: ReadonlySet<string> = new Set(["/", "/records"]);

/** The navigation of a session. */
export function entriesOf({ inspect_only }: Session): readonly Entry[] {
  return inspect_only ? ENTRIES.filter(({ path }) => OF_INSPECTION.has(path)) : ENTRIES;
}

/** Tells whether an entry of the navigation is where the page is. */
export function isWithin(path: string, entry: Entry): boolean {
  return path === entry.path || (entry.path !== "/" && path.startsWith(`${entry.path}/`));
}

/** The page of an address. */
export function pageOf({ path, query }: Place): VNode {
  const [name = "", id, ...rest] = segmentsOf(path);
  if (name === "endpoints" && id !== undefined) {
    const tail = path.slice("/endpoints/".length);
    return html`<${EndpointPage} key=${tail} tail=${tail} />`;
  }
  if (rest.length > 0) return html`<${MissingPage} />`;
  return id === undefined ? listOf(name, query) : oneOf(name, id);
}

function listOf(name: string, query: URLSearchParams): VNode {
  switch (name) {
    case "":
      return html`<${OverviewPage} />`;
    case "traffic":
      return html`<${TrafficPage} key=${query.toString()} query=${query} />`;
    case "approvals":
      return html`<${ApprovalsPage} />`;
    case "agents":
      return html`<${AgentsPage} />`;
    case "endpoints":
      return html`<${EndpointsPage} />`;
    case "contracts":
      return html`<${ContractsPage} />`;
    case "records":
      return html`<${RecordsPage} />`;
    case "upstreams":
      return html`<${UpstreamsPage} />`;
    case "nodes":
      return html`<${NodesPage} />`;
    case "account":
      return html`<${AccountPage} />`;
    default:
      return html`<${MissingPage} />`;
  }
}

function oneOf(name: string, id: string): VNode {
  switch (name) {
    case "traffic":
      return html`<${TrafficEntryPage} key=${id} id=${id} />`;
    case "approvals":
      return html`<${ApprovalPage} key=${id} id=${id} />`;
    case "agents":
      return html`<${AgentPage} key=${id} id=${id} />`;
    case "records":
      return html`<${ChainPage} key=${id} id=${id} />`;
    default:
      return html`<${MissingPage} />`;
  }
}

/** The page of any other address. */
function MissingPage(): VNode {
  return html`<${Page} name="Not found">
    <p role="alert">There is no page at this address. <a href="/">Go to the overview</a>.</p>
  <//>`;
}
