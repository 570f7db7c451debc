/** Puts the console of a deployment together: its people, its pages and what they show. */

import type { JsonRecord } from "../../base/json-value.ts";
import type { Problem } from "../../base/problem.ts";
import type { ConsoleSide, DaemonFacts } from "../../dispatch/module/http-gateway.ts";
import { publicKeyOf } from "../../identity/ed25519.ts";
import type { ConsoleContext } from "./config.ts";
import { createConsoleApi } from "./console-api.ts";
import { createConsole } from "./console-app.ts";
import { createEvents } from "./events.ts";
import { isKnownPage } from "./known-pages.ts";
import { LoginLinks } from "./login-links.ts";
import { openOidc } from "./open-oidc.ts";
import { loadPageFiles } from "./page-files.ts";
import { PasskeyChallenges } from "./passkey-challenges.ts";
import { openDesk, type PasskeyDesk } from "./passkey-desk.ts";
import { listPasskeys, recordingPasskeys } from "./passkey-records.ts";
import { Passkeys } from "./passkeys.ts";
import { type Person, ROLES, type Role } from "./person.ts";
import { ConsolePlace } from "./place.ts";
import { SessionRules } from "./session-rules.ts";
import { Sessions } from "./sessions.ts";
import { Traffic } from "./traffic.ts";
import { agentRoutes } from "./views/agents.ts";
import { approvalRoutes } from "./views/approvals.ts";
import { contractRoutes } from "./views/contracts.ts";
import { endpointRoutes } from "./views/endpoints.ts";
import { nodeRoute } from "./views/nodes.ts";
import { historyRoute, overview, overviewRoute, waitingCount } from "./views/overview.ts";
import { passkeyRoutes } from "./views/passkeys.ts";
import { recordRoutes } from "./views/records.ts";
import { sessionRoute } from "./views/session.ts";
import { trafficRoutes } from "./views/traffic-routes.ts";
import { tryRoutes } from "./views/try.ts";
import { upstreamRoutes } from "./views/upstreams.ts";

/** The console, its commands, and its end. */
export interface OpenedConsole {
  readonly side: ConsoleSide;
  readonly commands: ReadonlyMap<string, (options: JsonRecord) => unknown>;
  readonly problems: readonly Problem[];
  /** Puts its rules in force. */
  start(): void;
  close(): Promise<void>;
}

/** Opens it; it listens to nothing yet. */
export async function openConsole(context: ConsoleContext): Promise<OpenedConsole> {
  const { config } = context;
  const links = await context.once(openLinks);
  const traffic = await context.once(openTraffic);
  const rules = await context.once(openRules);
  rules.begin(config.console);
  const sessions = await Sessions.open(context, rules);
  const place = new ConsolePlace(config.console);
  const challenges = await context.once(openChallenges);
  const desk = openDesk({ passkeys: await Passkeys.open(context), challenges, place });
  let daemon: () => DaemonFacts | undefined = () => undefined;
  const api = apiOf(context, { sessions, traffic, desk, daemon: () => daemon() });
  const reportFault = reporting(context);
  const record = recordingPasskeys(context);
  const pages = await loadPageFiles();
  const provider = await openOidc(context, { place, sessions });
  const { oidc } = provider;
  const sweep = (): void => {
    void sessions.sweep().catch((error: unknown) => reportFault("", error));
  };
  const { state, directory, signingKey, deployment: served } = context;
  const publicKey = signingKey && publicKeyOf(signingKey);
  const { serverId } = config.server;
  const known = { state, directory, publicKey, serverId, traffic, served };
  const gateway = await createConsole({
    ...{ place, sessions, links, pages, api, oidc, reportFault },
    isThere: (segments) => isKnownPage(known, segments),
  });
  return {
    side: {
      gateway: () => gateway,
      bind: (port, facts) => {
        place.bind(port);
        daemon = facts;
      },
    },
    commands: new Map<string, (options: JsonRecord) => unknown>([
      ["login", openLogin(links, place)],
      ["passkeys", (options) => listPasskeys(options, { passkeys: desk.passkeys, record })],
    ]),
    problems: provider.problems,
    start: () => {
      // What is over by the rules of before stays over, whatever the next ones say.
      sweep();
      rules.enforce(config.console);
      sweep();
    },
    close: async () => {
      await gateway.close();
      await provider.close();
    },
  };
}

/** Kept through reloads: a link that was printed is good. */
const openLinks = (): LoginLinks => new LoginLinks();

const openChallenges = (): PasskeyChallenges => new PasskeyChallenges();

const openRules = (): SessionRules => new SessionRules();

const openTraffic = (): Traffic => {
  const traffic = new Traffic();
  traffic.listen();
  return traffic;
};

interface ApiSources {
  readonly sessions: Sessions;
  readonly traffic: Traffic;
  readonly desk: PasskeyDesk;
  daemon(): DaemonFacts | undefined;
}

function apiOf(context: ConsoleContext, { sessions, traffic, desk, daemon }: ApiSources) {
  const { config, directory, state, mcpServers, processes, deployment, signingKey } = context;
  const publicKey = signingKey && publicKeyOf(signingKey);
  const documentVersion = (): Promise<string | undefined> => deployment().documentVersion();
  const { serverId } = config.server;
  const sources = { serverId, traffic, state, documentVersion, daemon };
  const parts = { state, directory, desk };
  return createConsoleApi({
    touch: ({ token }) => sessions.touch(token),
    actAs: () => deployment().actAs,
    routes: [
      sessionRoute(serverId, desk.passkeys),
      overviewRoute(sources),
      historyRoute(sources.traffic),
      ...trafficRoutes(traffic, directory),
      ...approvalRoutes(parts),
      ...agentRoutes(parts),
      ...endpointRoutes(deployment),
      ...tryRoutes({ ...parts, served: deployment }),
      ...contractRoutes(state),
      ...recordRoutes({ ...parts, publicKey, serverId }),
      ...upstreamRoutes({
        servers: mcpServers,
        processes,
        ...{ state, desk },
        served: deployment,
        health: traffic.upstreams,
      }),
      nodeRoute(daemon),
      ...passkeyRoutes({ desk, state, record: recordingPasskeys(context) }),
    ],
    events: createEvents({
      traffic,
      overview: () => overview(sources),
      waiting: () => waitingCount(state),
      isStanding: ({ token }) => sessions.find(token) !== undefined,
      reportFault: (error) => reporting(context)("", error),
    }),
  });
}

function reporting({ log }: ConsoleContext): (errorId: string, error: unknown) => void {
  return (errorId, error) =>
    log.error({ event: "fault", error_id: errorId, error }, "the console failed");
}

const MAX_NAME = 128;

/** The command that prints links. */
export function openLogin(links: LoginLinks, place: ConsolePlace): (options: JsonRecord) => object {
  return (options) => login(options, links, place);
}

/** `agtpd login`: a link for whoever may use the control socket, which is the daemon's own user. */
function login(
  { role = "operator", name = "operator" }: JsonRecord,
  links: LoginLinks,
  place: ConsolePlace,
): object {
  if (!isRole(role)) throw new Error(`role must be one of ${ROLES.join(", ")}`);
  if (typeof name !== "string" || name === "" || name.length > MAX_NAME) {
    throw new Error(`name must be a text of at most ${MAX_NAME} characters`);
  }
  const person: Person = { id: `link:${name}`, name, role, via: "link" };
  return { url: `${place.baseUrl}/sign-in?link=${links.create(person)}`, expires_in_s: 300 };
}

function isRole(value: unknown): value is Role {
  return ROLES.some((role) => role === value);
}
