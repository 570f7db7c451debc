/**
 * The console of a server that was not started because of its journal, or that is only to be looked
 * at: records and the keys that sign them, and nothing that could change anything.
 */
import type { ProcessState } from "../../dispatch/process-state.ts";
import type { Ed25519PublicKey } from "../../identity/ed25519.ts";
import type { ServerConfig } from "../../identity/identity-sections.ts";
import type { InspectedJournal } from "../../state/journal/inspected-journal.ts";
import { type ApiRoute, createConsoleApi } from "./console-api.ts";
import { createConsole } from "./console-app.ts";
import { ConsoleFault } from "./console-fault.ts";
import type { ConsoleConfig } from "./console-section.ts";
import { createEvents } from "./events.ts";
import { LoginLinks } from "./login-links.ts";
import { type OpenedConsole, openLogin } from "./open-console.ts";
import { loadPageFiles } from "./page-files.ts";
import { ConsolePlace } from "./place.ts";
import { SessionRules } from "./session-rules.ts";
import { Sessions } from "./sessions.ts";
import { Traffic } from "./traffic.ts";
import { historyRoute, type OverviewParts, overview, overviewRoute } from "./views/overview.ts";
import { hasChain, recordRoutes } from "./views/records.ts";
import { sessionRoute } from "./views/session.ts";

/** The records that can be looked at, and the console for them. */
export interface InspectionParts extends Pick<ProcessState, "collection"> {
  readonly config: { readonly console: ConsoleConfig; readonly server: ServerConfig };
  readonly journal: Pick<
    InspectedJournal,
    "currentHeadOf" | "currentHeadsOf" | "openReader" | "whereCut" | "agentIds"
  >;
  /** Names of agents, as far as they are known. */
  readonly names: ReadonlyMap<string, string>;
  readonly publicKey: Ed25519PublicKey | undefined;
  reportFault(errorId: string, error: unknown): void;
}

/** Opens it; it listens to nothing yet. */
export async function openInspection(parts: InspectionParts): Promise<OpenedConsole> {
  const { config, journal, names, publicKey, reportFault } = parts;
  const links = new LoginLinks();
  const rules = new SessionRules();
  rules.enforce(config.console);
  const sessions = await Sessions.open(parts, rules);
  const place = new ConsolePlace(config.console);
  let daemon: OverviewParts["daemon"] = () => undefined;
  const { serverId } = config.server;
  const sources: OverviewParts = {
    ...{ serverId, traffic: new Traffic(), daemon: () => daemon() },
    state: { escalations: { list: () => [] }, ledger: { isWritable: false } },
    documentVersion: async () => undefined,
  };
  const directory = {
    list: () => journal.agentIds.map((agentId) => ({ agentId, name: names.get(agentId) ?? null })),
  };
  const records = { state: { ledger: journal }, directory, publicKey, serverId };
  const api = createConsoleApi({
    touch: ({ token }) => sessions.touch(token),
    actAs: () => () => Promise.reject(notStarted()),
    routes: [
      sessionRoute(serverId),
      overviewRoute(sources),
      historyRoute(sources.traffic),
      ...recordRoutes(records),
      ...UNSERVED.flatMap(unserved),
    ],
    events: createEvents({
      ...{ traffic: sources.traffic, overview: () => overview(sources), waiting: () => 0 },
      isStanding: ({ token }) => sessions.find(token) !== undefined,
      reportFault: (error) => reportFault("", error),
    }),
  });
  const pages = await loadPageFiles();
  const gateway = await createConsole({
    ...{ place, sessions, links, pages, api, reportFault },
    // Records are named with their journal; of all others the API says that they are not served.
    isThere: ([page, id]) => page !== "records" || id === undefined || hasChain(records, id),
    // Whom a provider lets in is nothing to ask while nothing is served.
    oidc: undefined,
  });
  return {
    side: {
      gateway: () => gateway,
      bind: (port, facts) => {
        place.bind(port);
        daemon = facts;
      },
    },
    commands: new Map([["login", openLogin(links, place)]]),
    problems: [],
    start: () => undefined,
    close: () => gateway.close(),
  };
}

const UNSERVED = [
  ...["traffic", "approvals", "agents", "endpoints", "try", "contracts", "upstreams", "nodes"],
  "passkeys",
];

function unserved(name: string): readonly ApiRoute[] {
  const answer = (): never => {
    throw notStarted();
  };
  return ["", "/*"].flatMap((rest) =>
    (["GET", "POST"] as const).map((method) => ({ method, path: `/${name}${rest}`, answer })),
  );
}

function notStarted(): ConsoleFault {
  const message = "the daemon was not started: its records can be looked at, and nothing else";
  return new ConsoleFault(503, "inspect-only", message);
}
