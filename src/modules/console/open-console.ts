/**
 * Assembles a console: sign-in, pages and API. The console of a server that did not start because of its journal, or
 * that is open for inspection only, shows records and their signing keys and changes nothing.
 */
import type { JsonRecord } from "../../base/json-value.ts";
import type { Problem } from "../../base/problem.ts";
import type { ConsoleSide, Gateway } from "../../dispatch/module/http-gateway.ts";
import type { ProcessState } from "../../dispatch/process-state.ts";
import { type Ed25519PublicKey, publicKeyOf } from "../../identity/ed25519.ts";
import type { ServerConfig } from "../../identity/identity-sections.ts";
import type { InspectedJournal } from "../../state/journal/inspected-journal.ts";
import type { ConsoleConfig, ConsoleContext } from "./config.ts";
import { type ApiRoute, get, post } from "./console-api.ts";
import { type ConsoleParts, createConsole } from "./console-app.ts";
import { ConsoleFault } from "./console-fault.ts";
import { createEvents } from "./events.ts";
import { openOidc } from "./oidc.ts";
import { loadPageFiles } from "./page-files.ts";
import { isKnownPage } from "./page-routes.ts";
import { listPasskeys, openDesk } from "./passkey-desk.ts";
import { isOneLine, type Person, ROLES, type Role } from "./person.ts";
import { ConsolePlace } from "./place.ts";
import { LoginLinks, type SessionRules, Sessions } from "./sessions.ts";
import { Traffic } from "./traffic.ts";
import { agentRoutes } from "./views/agents.ts";
import { approvalRoutes } from "./views/approvals.ts";
import { contractRoutes, endpointRoutes, tryRoutes } from "./views/endpoints.ts";
import {
  nodeRoutes,
  type OverviewParts,
  overview,
  overviewRoutes,
  trafficRoutes,
  waitingCount,
} from "./views/overview.ts";
import { passkeyRoutes } from "./views/passkeys.ts";
import { hasChain, recordRoutes } from "./views/records.ts";
import type { Sources } from "./views/sources.ts";
import { upstreamRoutes } from "./views/upstreams.ts";

/** The console, its control commands, and its shutdown. */
interface OpenedConsole {
  readonly side: ConsoleSide;
  readonly commands: ReadonlyMap<string, (options: JsonRecord) => unknown>;
  readonly problems: readonly Problem[];
  /** Puts this console's rules in force. */
  start(): void;
  close(): Promise<void>;
}

const VIEWS = [
  ...[trafficRoutes, approvalRoutes, agentRoutes, endpointRoutes, tryRoutes, contractRoutes],
  ...[recordRoutes, upstreamRoutes, nodeRoutes, passkeyRoutes],
];

/** Opens a deployment's console; it does not listen yet. */
export async function openConsole(context: ConsoleContext): Promise<OpenedConsole> {
  const { config, log, signingKey, deployment: served } = context;
  const { state, directory, mcpServers, processes } = context;
  const { serverId } = config.server;
  const links = await context.once(openLinks);
  const traffic = await context.once(openTraffic);
  const rules = await context.once(openRules);
  // Sessions are read before the console starts, and need rules by then.
  rules.current ??= config.console;
  const sessions = await Sessions.open(context, rules);
  const place = new ConsolePlace(config);
  const desk = await openDesk(context, place);
  const provider = await openOidc(context, { place, sessions });
  const publicKey = signingKey && publicKeyOf(signingKey);
  const reportFault = (errorId: string, error: unknown): void =>
    log.error({ event: "fault", error_id: errorId, error }, "the console failed");
  const sources: Sources = {
    ...{ state, directory, mcpServers, processes, serverId, publicKey, traffic, desk, served },
  };
  let changes = 0;
  const unwatch = state.escalations.watch(() => {
    changes += 1;
  });
  const gateway = await serve({
    ...{ place, sessions, links, oidc: provider.oidc, reportFault },
    changes: () => changes,
    isThere: (segments) => isKnownPage(sources, segments),
    actAs: () => served().actAs,
    routes: VIEWS.flatMap((routesOf) => routesOf(sources)),
    facts: {
      ...{ serverId, traffic, state, place, passkeys: desk.passkeys },
      documentVersion: () => served().documentVersion(),
    },
  });
  const sweep = (): void => {
    void sessions.sweep().catch((error: unknown) => reportFault("", error));
  };
  return {
    side: sideOf(gateway, place),
    commands: new Map<string, (options: JsonRecord) => unknown>([
      ["login", (options) => login(options, links, place)],
      ["passkeys", (options) => listPasskeys(options, desk)],
    ]),
    problems: provider.problems,
    start: () => {
      // A session that the old rules end stays ended, whatever the new rules say.
      sweep();
      rules.current = config.console;
      sweep();
    },
    close: async () => {
      unwatch();
      await gateway.close();
      await provider.close();
    },
  };
}

/** Kept across reloads, so that a printed link stays valid. */
const openLinks = (): LoginLinks => new LoginLinks();

const openRules = (): SessionRules => ({ current: undefined });

const openTraffic = (): Traffic => {
  const traffic = new Traffic();
  traffic.listen();
  return traffic;
};

/** The inspected records, and the configuration to show them with. */
interface InspectionParts extends Pick<ProcessState, "collection"> {
  readonly config: { readonly console: ConsoleConfig; readonly server: ServerConfig };
  readonly journal: Pick<
    InspectedJournal,
    "currentHeadOf" | "currentHeadsOf" | "openReader" | "whereCut" | "agentIds"
  >;
  /** Names of agents, as far as known. */
  readonly names: ReadonlyMap<string, string>;
  readonly publicKey: Ed25519PublicKey | undefined;
  reportFault(errorId: string, error: unknown): void;
}

const UNSERVED = [
  ...["traffic", "approvals", "agents", "endpoints", "try", "contracts", "upstreams", "nodes"],
  "passkeys",
];

/** Opens the console of an inspected journal; it does not listen yet. */
export async function openInspection(parts: InspectionParts): Promise<OpenedConsole> {
  const { config, journal, names, publicKey, reportFault } = parts;
  const { serverId } = config.server;
  const links = new LoginLinks();
  const rules = { current: config.console };
  const place = new ConsolePlace(config);
  const directory = {
    list: () => journal.agentIds.map((agentId) => ({ agentId, name: names.get(agentId) ?? null })),
  };
  const records = { state: { ledger: journal }, directory, publicKey, serverId };
  const gateway = await serve({
    ...{ place, links, reportFault, changes: () => 0 },
    sessions: await Sessions.open(parts, rules),
    // Nobody signs in at a provider while nothing is served.
    oidc: undefined,
    // Records are looked up in the journal; for other pages the API answers that they are not served.
    isThere: ([page, id]) => page !== "records" || id === undefined || hasChain(records, id),
    actAs: () => () => Promise.reject(notStarted()),
    routes: [...recordRoutes(records), ...UNSERVED.flatMap(unserved)],
    facts: {
      ...{ serverId, traffic: new Traffic(), place, passkeys: undefined },
      state: { escalations: { list: () => [] }, ledger: { isWritable: false } },
      documentVersion: async () => undefined,
    },
  });
  return {
    side: sideOf(gateway, place),
    commands: new Map([["login", (options: JsonRecord) => login(options, links, place)]]),
    problems: [],
    start: () => undefined,
    close: () => gateway.close(),
  };
}

function unserved(name: string): readonly ApiRoute[] {
  const answer = (): never => {
    throw notStarted();
  };
  return ["", "/*"].flatMap((rest) => [
    get(`/${name}${rest}`, answer),
    post(`/${name}${rest}`, undefined, answer),
  ]);
}

function notStarted(): ConsoleFault {
  const message = "the daemon was not started: its records can be looked at, and nothing else";
  return new ConsoleFault(503, "inspect-only", message);
}

interface Serving extends Omit<ConsoleParts, "pages" | "events"> {
  readonly facts: OverviewParts;
  /** The number of changes to escalations so far. */
  changes(): number;
}

async function serve({ facts, changes, ...parts }: Serving): Promise<Gateway> {
  const { sessions, reportFault } = parts;
  const routes = [...overviewRoutes(facts), ...parts.routes];
  const events = createEvents({
    traffic: facts.traffic,
    overview: () => overview(facts),
    waiting: () => waitingCount(facts.state),
    changes,
    isStanding: ({ token }) => sessions.find(token) !== undefined,
    reportFault: (error) => reportFault("", error),
  });
  return createConsole({ ...parts, routes, events, pages: await loadPageFiles() });
}

function sideOf(gateway: Gateway, place: ConsolePlace): ConsoleSide {
  return { gateway: () => gateway, bind: (port, daemon) => place.bind(port, daemon) };
}

const MAX_NAME = 128;

/** `agtpd login`: creates a link for a user of the control socket, which is the daemon's own user. */
function login(
  { role = "operator", name = "operator" }: JsonRecord,
  links: LoginLinks,
  place: ConsolePlace,
): object {
  if (!isRole(role)) throw new Error(`role must be one of ${ROLES.join(", ")}`);
  if (typeof name !== "string" || name.trim() === "" || name.length > MAX_NAME) {
    throw new Error(`name must be a text of 1 to ${MAX_NAME} characters, and not blank`);
  }
  if (!isOneLine(name)) throw new Error("name must have no control characters");
  const person: Person = { id: `link:${name}`, name, role, via: "link" };
  return { url: `${place.baseUrl}/sign-in?link=${links.create(person)}`, expires_in_s: 300 };
}

function isRole(value: unknown): value is Role {
  return ROLES.some((role) => role === value);
}
